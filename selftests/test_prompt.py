# SPDX-License-Identifier: GPL-2.0
"""No payload handed to a leg is held back for more: right after the relay has
run, a leg has nothing unsent, be it a byte, a partial segment after full ones,
or the first payload of a connection. The ends' acknowledgements, which would
release payload held by Nagle's algorithm, are delayed."""

from peptest import genl, pep
from peptest.ktap import after_case, expect, families, wait_for
from peptest.netns import netem, netem_end
from peptest.pep import grows
from peptest.tcp import exchange

SIZES = 1, 100, 1461, 2900, 5000
SIDES = ("server", "bytes_to_server"), ("wireless", "bytes_to_wireless")
FLOW = genl.names("PEP_A_FLOW_")
LEG = genl.names("PEP_A_LEG_")
FLOW_GET = next(number for number, name in
                genl.names("PEP_CMD_").items() if name == "flow_get")
ID = next(number for number, name in FLOW.items() if name == "id")


@after_case
def quick():
    """End the delays of the links."""
    for ns in "sub", "srv":
        netem_end(ns, "eth0")


def unsent(number, side):
    """Unsent bytes of a flow's leg; read without pepadm, which would take
    longer than payload is held."""
    answer, = genl.request("pep", genl.family_id("pep", "pep"), FLOW_GET,
                           genl.attr(ID, number.to_bytes(4, "little")))
    flow = {FLOW[kind]: data for kind, data in genl.attrs(answer)}
    leg = {LEG[kind]: data for kind, data in genl.attrs(flow[side])}
    return int.from_bytes(leg["unsent"], "little")


def sent(number, sock, size, side, counter):
    """Send size bytes; fail if any of them is unsent in the leg of a side."""
    wanted = pep.stat(counter) + size
    sock.sendall(bytes(size))
    wait_for("the relay", lambda: pep.stat(counter) == wanted)
    expect(f"unsent bytes of {size}", unsent(number, side), 0)


def prompt(family, opener, opened):
    with grows(flow_closed=1):
        both = pep.split_pair(family, opener, opened)
        ends = both if opener == "sub" else both[::-1]
        flow, = pep.flows()
        for ns in "sub", "srv":
            netem(ns, "eth0", "delay", "100ms")
        for size in SIZES:
            for sock, far, how in zip(ends, ends[::-1], SIDES):
                sent(flow["id"], sock, size, *how)
                got = 0
                while got < size:
                    got += len(far.recv(size))
        exchange(both, 1000)


families("each way, the subscriber opens", "sub", "srv")(prompt)
families("each way, the server opens", "srv", "sub")(prompt)


def apart(family, opener, opened):
    """The handshake passes pep as a whole, and the far side's part of it does
    not count for the round trip to the near side. The link is unknown, because
    otherwise the SYN-ACK would be sent again, which leaves no sample."""
    pep.pepadm("path", "flush", "all")
    netem("sub", "eth0", "delay", "800ms")
    netem("srv", "eth0", "delay", "20ms")
    both = pep.split_pair(family, opener, opened)
    flow, = pep.flows()
    for side, low in ("wireless", 800000), ("server", 20000):
        rtt = flow["legs"][side]["srtt_us"]
        expect(f"{side} srtt_us {rtt} near {low}", low <= rtt < low + 380000,
               True)
    quick()
    exchange(both, 1000)
    pep.flows_end()


families("each leg begins with its own side's round trip",
         "sub", "srv")(apart)
families("each leg begins with its own side's round trip, the server opens",
         "srv", "sub")(apart)
