# SPDX-License-Identifier: GPL-2.0
"""The options -s and -d add fields to text output; JSON is the same with them
and without."""

import json
import re

import socket
import struct

from peptest import pep, settings
from peptest.ktap import case, expect, expect_least, fail, families
from peptest.netns import run
from peptest.pep import pepadm, split_pair
from peptest.tcp import exchange_part

OPTIONS = (), ("-s",), ("-d",), ("-s", "-d")
# Words of "flow show" that have a value, by the options that they need.
FLOW = {(): ["flow", "profile", "age", "to-wireless", "to-server"],
        ("-s",): ["copied"], ("-d",): ["opener", "mode", "dev"]}
PACKETS = "segs_out", "segs_in", "data_segs_in", "data_segs_out"
LEG = {(): ["cc", "state", "rtt", "minrtt", "cwnd", "retrans", "unread",
            "unsent"],
       ("-s",): ["rx", "acked", "unacked", "residence", "p50", "p99",
                 *PACKETS],
       ("-d",): ["mss", "dev", "sk"]}


def setup():
    """Attached; the first connections have ended."""
    pep.warmed()


def text(options, *words):
    """The lines of text output with some options."""
    return pepadm(*options, *words).stdout.splitlines()


def expect_words(what, line, table, options):
    """Fail unless a line has exactly the words that options select, each with
    a value."""
    for need, words in table.items():
        for word in words:
            found = len(re.findall(rf"(?:^| ){word} [^ ]+", line))
            expect(f"{what}: {word} with {options}", found,
                   int(set(need) <= set(options)))


def same_json(*words):
    """JSON output, whose keys must be the same with all options."""
    found = [json.loads(pepadm("-j", *options, *words).stdout)
             for options in OPTIONS]
    for one in found[1:]:
        expect(f"keys of {words}", keys(one), keys(found[0]))
    return found[0]


def keys(value):
    """The keys of all objects in a value, in their order; those of buckets are
    left out, as empty buckets are omitted."""
    if isinstance(value, dict):
        return [(key, keys(inner) if key != "buckets" else None)
                for key, inner in value.items()]
    return [keys(inner) for inner in value] if isinstance(value, list) else 0


@families("a flow")
def flow(family):
    both = split_pair(family)
    exchange_part(both, 1000)
    for options in OPTIONS:
        lines = text(options, "flow", "show")
        expect(f"lines with {options}", len(lines), 4)
        expect_words("flow", " ".join(lines[:2]), FLOW, options)
        for side, line in zip(("wireless", "server"), lines[2:]):
            expect("side", line.split()[0], side)
            expect_words(side, line, LEG, options)
            expect(f"{side}: resume with {options}", " resume " in line,
                   side == "wireless" and "-d" in options)
    for sock in both:
        sock.close()
    pep.flows_end()


def held(ns):
    """Output of ss for the established sockets of a namespace, with their
    memory and the processes that have them open."""
    return run("ss", "-HOtipmn", "state", "established",
               ns=ns).stdout.splitlines()


@families("ss shows the legs, which nobody has open")
def bare(family):
    """For those of the ends, which this program has open, ss names it."""
    both = split_pair(family)
    exchange_part(both, 1000)
    for ns, count, owned in ("pep", 2, 0), ("sub", 1, 1), ("srv", 1, 1):
        lines = held(ns)
        expect(f"sockets of {ns}", len(lines), count)
        for line in lines:
            for word, wanted in (("skmem:(", 1), ("users:(", owned)):
                expect(f"{word} in {line}", line.count(word), wanted)
    for sock in both:
        sock.close()
    pep.flows_end()


@case("JSON has everything in any case")
def everything():
    both = split_pair(4)
    exchange_part(both, 1000)
    found, = same_json("flow", "show")
    for key in "opener", "connect", "bytes_copied", "dev", "ifindex":
        if key not in found:
            fail(f"{key} is not in {found}")
    for key in ("mss", "bytes_received", "unacked", "residence", "dev",
                "ifindex", "cookie", *PACKETS):
        if key not in found["legs"]["wireless"]:
            fail(f"{key} is not in {found['legs']}")
    for words in (("dev", "show"), ("profile", "show"), ("stat", "show"),
                  ("stat", "residence"), ("limit",)):
        same_json(*words)
    for sock in both:
        sock.close()
    pep.flows_end()


@families("the sockets of a flow are those that ss has by that number")
def cookies(family):
    both = split_pair(family)
    legs = pep.flows()[0]["legs"]
    ports = {"wireless": both[0].getsockname()[1],
             "server": both[1].getsockname()[1]}
    for side, port in ports.items():
        out = run("ss", "-tenH", "dport", "=", str(port), ns="pep").stdout
        expect(f"sk of {side}", re.findall(r"\bsk:([0-9a-f]+)", out),
               [f"{legs[side]['cookie']:x}"])
        if "source" in legs[side]:
            fail(f"{side} has another source than the opener: {legs}")
    for sock in both:
        sock.close()
    pep.flows_end()


def end_packets(sock):
    """Packet counts of an end, from its struct tcp_info."""
    info = sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 160)
    return dict(zip(PACKETS, (*struct.unpack_from("II", info, 136),
                              *struct.unpack_from("II", info, 152))))


def ss_packets(port):
    """The same for the gateway's sockets to a remote port, from ss."""
    out = run("ss", "-tinH", "dport", "=", str(port), ns="pep").stdout
    found = dict(re.findall(r"\b((?:data_)?segs_(?:in|out)):(\d+)", out))
    return {name: int(found.get(name, 0)) for name in PACKETS}


def packets(family, mode, opener, opened):
    """An end receives everything that the other sends. Both count the same,
    except for the handshake: a leg that takes a connection over after it has
    sent and received none of it, and a socket that is created at its
    completion has not counted its SYN-ACK."""
    sides = {"sub": "wireless", "srv": "server"}
    # Packets of the handshake that only the end has counted: in, out.
    early = {opener: (1, 0), opened: (0, -1)}
    follow = {opener: (1, 2), opened: (2, 0)}
    pepadm("profile", "set", "default", "connect", mode)
    try:
        both = split_pair(family, opener, opened)
    finally:
        pepadm("profile", "set", "default", "connect", "follow")
    exchange_part(both, 100000, 300000)
    pep.quiet()
    legs = pep.flows()[0]["legs"]
    for sock, name in zip(both, (opener, opened)):
        leg = legs[sides[name]]
        end = end_packets(sock)
        came, went = (early if mode == "early" else follow)[name]
        for way, back in ("out", "in"), ("in", "out"):
            expect(f"data_segs_{way} of {name}", leg[f"data_segs_{way}"],
                   end[f"data_segs_{back}"])
        expect(f"segs_out of {name}", leg["segs_out"] + came, end["segs_in"])
        expect(f"segs_in of {name}", leg["segs_in"] + went, end["segs_out"])
        expect_least(f"payload to {name}", leg["data_segs_out"], 2)
        expect(f"{name}'s leg as ss shows it", {key: leg[key] for key in
                                                PACKETS},
               ss_packets(sock.getsockname()[1]))
    for sock in both:
        sock.close()
    pep.flows_end()


for _mode in "follow", "early":
    families(f"packets, {_mode}", _mode, "sub", "srv")(packets)
    families(f"packets, {_mode}, the server opens", _mode, "srv",
             "sub")(packets)


@case("a device")
def device():
    """One filter for each protocol; their counts add up to the device's."""
    usual, = text((), "dev", "show", "wl0")
    whole = json.loads(pepadm("-j", "dev", "show", "wl0").stdout)[0]
    if not re.fullmatch(r"dev wl0 side wireless profile default "
                        r"packets \d+ bytes \d+", usual):
        fail(f"it is {usual}")
    for options in OPTIONS[1:]:
        first, *filters = text(options, "dev", "show", "wl0")
        expect(f"ifindex with {options}",
               f" ifindex {whole['ifindex']} " in first, "-d" in options)
        expect(f"filters with {options}", [line.split()[:2]
                                           for line in filters],
               [["filter", "ip"], ["filter", "ipv6"]])
        for line in filters:
            expect_words("filter", line, {(): ["filter"], ("-d",):
                                          ["pref", "action"], ("-s",):
                                          ["packets", "bytes"]}, options)
    expect("preferences", [each["pref"] for each in whole["filters"]],
           [49153, 49154])
    for each in whole["filters"]:
        expect_least("packets", each["packets"], 1)
    for key in "packets", "bytes":
        expect(key, sum(each[key] for each in whole["filters"]), whole[key])


@case("a profile")
def profile():
    """Values that differ from the defaults are always shown."""
    pepadm("profile", "set", "default", "split", "12000,loss")
    short = ("profile default cc-wireless pep_bbr cc-server cubic "
             "connect follow "
             "residence 50")
    long = "profile default " + settings.line()
    used = " devices 4 flows 0"
    for options, line in zip(OPTIONS, (short, short + used, long,
                                       long + used)):
        expect(f"with {options}", text(options, "profile", "show",
                                       "default"), [line])
    expect("options that are always shown",
           [one.word for one in settings.OPTIONS if one.always],
           ["cc-wireless", "cc-server", "connect", "residence"])
    odd = {**settings.unusual(), "server_dev": "sv0", "release_idle": "0",
           "residence": "0", "dscp": "0", "control": "12.5%"}
    line = settings.line(**odd)
    pepadm("profile", "add", "odd", *line.split())
    for options in (), ("-d",):
        expect(f"an odd one with {options}", text(options, "profile", "show",
                                                  "odd"),
               [f"profile odd {line}"])
    pepadm("profile", "del", "odd")
