# SPDX-License-Identifier: GPL-2.0
"""Flows selected by their addresses, ports, state, profile, device, age and
payload: exactly these are shown, or ended."""

import errno
import json
import re
import socket
import struct

from peptest import genl, pep, service
from peptest.env import amount
from peptest.ktap import (case, expect, expect_least, fail, families, note,
                          wait_for)
from peptest.netns import ip, run
from peptest.pep import grows, pepadm, split_pair, split_start
from peptest.tcp import (Load, exchange, exchange_part, expect_reset, one_way,
                         pair, reset)

COMMANDS = {name: number for number, name in genl.names("PEP_CMD_").items()}
ATTRS = {name: number for number, name in genl.names("PEP_A_FLOW_").items()}
MUCH = 50000            # bytes
# Number of flows that stay during a dump; fewer do not fill enough parts.
STAY = max(amount(180), 60)
NETS = {4: "198.18.0.0/16", 6: "2001:db8::/64"}
SECOND = {4: "198.18.0.77", 6: "2001:db8::77"}


def setup():
    """Attached; the subscriber has a second address of either family, which it
    uses only on bind()."""
    pep.attached()
    ip("sub", "address add 198.18.0.77/24 dev eth0",
       "address add 2001:db8::77/64 dev eth0 nodad preferred_lft 0")
    pepadm("profile", "add", "gold", "split", "handshake")


def chosen(*words):
    """Numbers of the shown flows."""
    shown = json.loads(pepadm("-j", "flow", "show", *words).stdout)
    return {flow["id"] for flow in shown}


def by(flow, dev):
    """Does a flow receive packets on a device?"""
    return dev in (leg["dev"] for leg in flow["legs"].values())


def newest():
    """The flow that was created last."""
    return max(pep.flows(), key=lambda flow: flow["id"])


def several(family):
    """Different flows, as pairs of sockets by name."""
    other = 10 - family
    found = {"plain": split_pair(family), "other": split_pair(other),
             "port": split_pair(family, port=5001),
             "opened": split_pair(family, "srv", "sub"),
             "second": split_pair(family, bind=(SECOND[family], 0))}
    pepadm("dev", "set", "wl0", "profile", "gold")
    found["gold"] = split_pair(family)
    pepadm("dev", "set", "wl0", "profile", "default")
    one_way(*found["port"], MUCH, fin=True)
    wait_for("its end", lambda: chosen("state", "closing"))
    return found


@families("each word chooses the flows that agree")
def words(family):
    found = several(family)
    flows = pep.flows()
    expect("flows", len(flows), len(found))
    second = SECOND[family]
    port = found["second"][0].getsockname()[1]
    inet = "inet" if family == 4 else "inet6"
    for line, test in (
            ("all", lambda f: True),
            ("subscriber " + NETS[family], lambda f: f["family"] == inet),
            (f"subscriber {second}",
             lambda f: f["subscriber"]["addr"] == second),
            (f"subscriber {second} server-port 5001", lambda f: False),
            ("server 0.0.0.0/0", lambda f: f["family"] == "inet"),
            ("server ::/0", lambda f: f["family"] == "inet6"),
            (f"server {NETS[family]}".replace("/64", "/33"),
             lambda f: f["family"] == inet),
            ("server 203.0.113.0/24", lambda f: False),
            (f"subscriber-port {port}",
             lambda f: f["subscriber"]["port"] == port),
            ("server-port 5001", lambda f: f["server"]["port"] == 5001),
            ("subscriber-port 5000",
             lambda f: f["subscriber"]["port"] == 5000),
            ("state established", lambda f: f["state"] == "established"),
            ("state closing", lambda f: f["state"] == "closing"),
            ("profile gold", lambda f: f["profile"] == "gold"),
            ("profile none", lambda f: False),
            ("dev wl0", lambda f: by(f, "wl0")),
            ("dev sv0", lambda f: by(f, "sv0")),
            ("dev lo", lambda f: by(f, "lo")),
            ("older 0", lambda f: True), ("older 1000", lambda f: False),
            (f"bytes {MUCH}", lambda f: f["bytes_to_server"] >= MUCH),
            (f"bytes {MUCH + 1}", lambda f: False),
            (f"profile default subscriber {NETS[family]} server-port 5000",
             lambda f: f["profile"] == "default" and f["family"] == inet and
             f["server"]["port"] == 5000)):
        expect(line, chosen(*line.split()),
               {f["id"] for f in flows if test(f)})
    expect("one is closing", len(chosen("state", "closing")), 1)
    expect("one is golden", len(chosen("profile", "gold")), 1)
    links = {link["ifname"]: link["ifindex"] for link in json.loads(
        run("ip", "-j", "link", ns="pep").stdout)}
    for flow in flows:
        expect("devices", (flow["dev"], flow["legs"]["wireless"]["dev"],
                           flow["legs"]["server"]["dev"]),
               ({"wireless": "wl0", "server": "sv0"}[flow["opener"]], "wl0",
                "sv0"))
        for each in flow, *flow["legs"].values():
            expect("number of " + each["dev"], each["ifindex"],
                   links[each["dev"]])


@families("ending some leaves the others")
def kill(family):
    live = split_pair(family)
    number = newest()["id"]
    doomed = split_pair(family)
    with grows(ended=False, flow_killed=1):
        done = pepadm("-j", "flow", "kill", str(newest()["id"]))
        expect("killed", json.loads(done.stdout), {"killed": 1})
        for sock in doomed:
            expect_reset(sock)
    doomed = [split_pair(family, bind=(SECOND[family], 0)) for _ in range(3)]
    done = pepadm("flow", "kill", "subscriber", SECOND[family])
    expect("killed", done.stdout, "killed 3\n")
    for both in doomed:
        for sock in both:
            expect_reset(sock)
    exchange_part(live, 1000)
    expect("nobody", pepadm("flow", "kill", "profile", "gold").stdout,
           "killed 0\n")
    expect("the one that is left", chosen(), {number})
    pepadm("flow", "kill", "all")
    for sock in live:
        expect_reset(sock)
    pep.flows_end()


@case("flows of a dump: those that live throughout are there once")
def dump():
    """More than fit into one message."""
    pairs = [split_pair(family) for family in (4, 6) for _ in range(60)]
    ids = [flow["id"] for flow in pep.flows()]
    expect("each once", len(ids), len(set(ids)))
    expect("all", len(ids), len(pairs))
    ports = [near.getsockname()[1] for near, _ in pairs]
    # One of the other family may have the same.
    expect("the last", len(chosen("subscriber-port", str(ports[-1]))),
           ports.count(ports[-1]))
    for both in pairs:
        exchange(both, 10)


def told(part):
    """Numbers of the flows in a part of a dump."""
    return [struct.unpack("I", dict(genl.attrs(payload))[ATTRS["id"]])[0]
            for _, payload in part]


@case("flows of a dump, told while others come and go", seconds=300)
def churn():
    """In small parts. As many flows end as stay, between any two parts one
    that has been dumped and one that has not; new ones are created."""
    pairs = [both for _ in range(3) for family in (4, 6)
             for both in split_start(family, STAY // 3)]
    by_name = {(flow["subscriber"]["addr"], flow["subscriber"]["port"]):
               flow["id"] for flow in pep.flows()}
    expect("flows", len(by_name), len(pairs))
    numbers = {by_name[both[0].getsockname()[:2]]: both for both in pairs}
    order = sorted(numbers)
    stay = set(order[::2])
    doomed = [numbers[each] for each in order[1::2]]
    seen, new, count = [], [], 0
    with genl.ask("pep", genl.family_id("pep", "pep"), COMMANDS["flow_get"],
                  dump=True) as sock:
        for part in genl.parts(sock, 4096):
            seen += told(part)
            count += 1
            for place in 0, -1:
                if doomed:
                    near, far = doomed.pop(place)
                    reset(near)
                    far.close()
            if count <= STAY // 4:
                new.append(pair((4, 6)[count % 2]))
    note(f"{count} parts, {len(seen)} flows, {len(doomed)} were left to end")
    expect_least("parts", count, 10)
    expect("told twice", sorted({each for each in seen
                                 if seen.count(each) > 1}), [])
    expect("stayed and not told", sorted(stay - set(seen)), [])
    expect("told that came meanwhile",
           any(each > order[-1] for each in seen), True)


@case("top: the busiest flows first")
def top():
    """Two tables; the second has the rates since the first."""
    idle, slow, fast = (split_pair(4) for _ in range(3))
    loads = Load([slow], 20000), Load([fast], 200000)
    out = pepadm("flow", "top", "delay", "2", "count", "2", "subscriber",
                 "0.0.0.0/0").stdout
    for load in loads:
        load.finish()
    if "\033" in out:
        fail("there are codes of a terminal in it")
    tables = [table.splitlines() for table in
              re.split("^flows ", out, flags=re.MULTILINE)[1:]]
    expect("tables", len(tables), 2)
    for head, columns, *rows in tables:
        if not head.startswith("3  to subscribers "):
            fail(f"the head is {head!r}")
        expect("columns", len(columns.split()), 7)
        ends = [row.split()[5].rpartition(":")[2] for row in rows]
        expect("the order", ends, [
            str(both[0].getsockname()[1]) for both in (fast, slow, idle)])
        rates = [float(row.split()[1]) for row in rows]
        # 1.6, 0.16 and 0 Mbit/s, if the machine is up to it
        expect("that the fast one is faster", rates[0] > 2 * rates[1] > 0,
               True)
        expect("the idle one's rate", rates[2], 0.0)
    done = pepadm("-j", "flow", "top", check=False)
    expect("with -j", (done.returncode, done.stderr),
           (2, "pepadm: flow top: not with -j, which flow show has\n"))
    for both in (idle, slow, fast):
        for sock in both:
            sock.close()


def refused(command, dump, *attrs):
    """The error of a request with attributes."""
    payload = b"".join(genl.attr(ATTRS[name], value) for name, value in attrs)
    try:
        genl.request("pep", genl.family_id("pep", "pep"), COMMANDS[command],
                     payload, dump)
    except OSError as err:
        return errno.errorcode[err.errno]
    return "ok"


@case("requests that make no sense")
def nonsense():
    four = socket.inet_aton("198.18.0.2")
    six = bytes(16)
    live = split_pair(4)
    for wanted, *attrs in (
            ("EINVAL", ("subscriber_addr", four[:3])),
            ("EINVAL", ("server_addr", six + b"1")),
            ("EINVAL", ("subscriber_addr", four), ("server_addr", six)),
            ("EINVAL", ("server_prefix", struct.pack("I", 8))),
            ("ERANGE", ("server_addr", four),
             ("server_prefix", struct.pack("I", 33))),
            ("ERANGE", ("server_addr", six),
             ("server_prefix", struct.pack("I", 129))),
            ("ERANGE", ("state", struct.pack("I", 9))),
            ("ERANGE", ("ifindex", struct.pack("I", 0))),
            ("ERANGE", ("id", struct.pack("I", 0))),
            ("ERANGE", ("server_port", bytes(2))),
            ("EINVAL", ("profile", b"abcdefghijklmnop\0"))):
        for command, dump_it in (("flow_get", True), ("flow_kill", False)):
            expect(f"{command} {attrs}", refused(command, dump_it, *attrs),
                   wanted)
    expect("no filter", refused("flow_kill", False), "EINVAL")
    exchange(live, 10)


@case("words that are wrong")
def wrong():
    for line, message in (
            ("flow show subscriber 198.18.0.300",
             'subscriber: "198.18.0.300" is not an address or ADDR/BITS'),
            ("flow show server 198.18.0.0/33",
             'server: "198.18.0.0/33" is not an address or ADDR/BITS'),
            ("flow show server-port 0",
             'server-port: "0" is not a number from 1 to 65535'),
            ("flow show older -1",
             'older: "-1" is not a number from 0 to 4294967295'),
            ("flow show bytes 1k",
             'bytes: "1k" is not a number from 0 to 18446744073709551615'),
            ("flow show state up", 'state: "up" is not one of: '),
            ("flow show 1 profile gold", '"profile": unexpected word'),
            ("flow kill", "ID, FILTER or all: missing"),
            ("flow kill all older 1", '"all" is not one of: ')):
        done = pepadm(*line.split(), check=False)
        expect(f"{line}: exit code", done.returncode, 2)
        if message not in done.stderr or done.stderr.count("\n") != 1:
            fail(f"{line}: it said {done.stderr!r}")
    done = pepadm("flow", "kill", "dev", "none", check=False)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr,
           'pepadm: flow kill: Cannot find device "none"\n')


@case("profiles come and go while they are told")
def inconsistent():
    """Answers of the dump are marked once one profile is deleted, and not
    before."""
    many = [f"p{i}" for i in range(100)]
    service.write("batch", "".join(f"profile add {name}\n" for name in many))
    pepadm("-b", service.path("batch"))
    family = genl.family_id("pep", "pep")
    for gone in None, many.pop(0):
        with genl.ask("pep", family, COMMANDS["profile_get"],
                      dump=True) as sock:
            if gone:
                pepadm("profile", "del", gone)
            marks = [flags & genl.NLM_F_DUMP_INTR
                     for flags, _ in genl.answers(sock)]
        expect("are some marked", any(marks), bool(gone))
        expect("is the first one marked", bool(marks[0]), False)
    for name in many:
        pepadm("profile", "del", name)
    service.services_down()
