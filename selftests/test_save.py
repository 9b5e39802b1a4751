# SPDX-License-Identifier: GPL-2.0
"""Connections outlive the module: pepadm flow save writes their state, flow
restore passes it to the next module, which follows them and splits them again
at their position by then."""

import errno
import json
import os
import socket
import stat
import struct

from peptest import env, genl, pep, service
from peptest.absent import Absent
from peptest.env import EXACT, amount
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, note, wait_for)
from peptest.netns import (near_only, netem, netem_end, paws, resets, run,
                           spaces, sysctls)
from peptest.pep import pepadm
from peptest.tcp import (Load, exchange, exchange_part, one_way, pair,
                         start)

TRAITS = {"simulated"}

COMMANDS = {name: number for number, name in genl.names("PEP_CMD_").items()}
CONN = {name: number for number, name in genl.names("PEP_A_CONN_").items()}
END = {name: number for number, name in genl.names("PEP_A_END_").items()}
RATE = amount(2000000)  # bytes per second, of all connections together
# For connections that send a little at a time, and wait for an answer.
SOON = "1000,loss"
WINDOW = 10000000       # bytes, more than an end offers
DAY = 86400 * 1000      # ms
NEVER = 1 << 32         # more than a number of 32 bits
ROOM = 1000             # connections that fill the table


def setup():
    """Attached, with the default triggers of a profile, and no connection in
    the table."""
    pep.load()
    pep.topology_up()
    pep.attach()
    for family in 4, 6:
        exchange(pair(family), 1)
    clean()


@after_case
def clean():
    """Reload the module for each case."""
    service.services_down()
    if "pep" not in spaces():
        return
    for ns, dev in ("pep", "wl0"), ("sub", "eth0"):
        netem_end(ns, dev)
    if pep.loaded():
        pepadm("conf", "load", "/dev/null")
        pep.unload()
    pep.load()
    pep.attach()


def conns():
    """Connections as pepadm shows them, by the subscriber's port."""
    shown = json.loads(pepadm("-j", "conn", "show").stdout)
    return {conn["subscriber"]["port"]: conn for conn in shown}


def port(both):
    """The port of the opener."""
    return both[0].getsockname()[1]


def save():
    """Save as at the stop of the service; return the lines."""
    path = service.path("flows")
    pepadm("conf", "load", "/dev/null")
    pepadm("flow", "save", path)
    with open(path, encoding="ascii") as file:
        return file.read().splitlines()


def renew():
    """Reload and attach the module."""
    pep.unload()
    pep.load()
    pep.attach()


def write(lines):
    """Write the file with other lines."""
    return service.write("flows", "".join(line + "\n" for line in lines))


def restore(**wanted):
    """Restore as at the start of the service."""
    done = pepadm("-j", "flow", "restore", service.path("flows"))
    counts = dict.fromkeys(("restored", "known", "expired", "refused"), 0)
    expect("answer", json.loads(done.stdout), counts | wanted)


def anew(restored):
    """Save, reload the module, restore."""
    lines = save()
    renew()
    restore(restored=restored)
    return lines


def changed(line, **words):
    """A line with other values; None removes one."""
    parts = line.split()
    for word, value in words.items():
        at = parts.index(word.replace("_", "-"))
        parts[at:at + 2] = [parts[at], value] if value is not None else []
    return " ".join(parts)


def moved(line, ahead):
    """A line with all sequence numbers shifted."""
    words = line.split()
    values = dict(zip(words[1::2], words[2::2]))
    names = [f"{side}-{name}" for side in ("wireless", "server")
             for name in ("high", "ack", "edge")]
    return changed(line, **{
        name.replace("-", "_"): str((int(values[name]) + ahead) % NEVER)
        for name in names})


def expect_no_paws(before):
    """Where computing takes time the delay may have grown since a leg took
    over the clock of its end, and the end's clock then lags behind by that
    time: its segments are dropped, and sent once more."""
    now = paws()
    if EXACT:
        expect("segments dropped for timestamps", now, before)
    else:
        note("segments dropped for timestamps:", now, "before:", before)


def midstream(family, link=None, opener="sub", opened="srv", step=None):
    """Downloads, uploads and both, which are split, handed back, saved,
    restored and split again."""
    pepadm("profile", "set", "default", "split", SOON)
    ends = start(family, 12, opener, opened)
    before = resets(), paws()
    if link:
        netem("pep", "wl0", *link.split())
        netem("sub", "eth0", *link.split())
    loads = [Load(ends[:4], RATE // 12, up=False),
             Load(ends[4:8], RATE // 12, down=False),
             Load(ends[8:], RATE // 12)]

    def more():
        for load in loads:
            load.more(RATE // 50, 60)
    pep.wait_flows(12)
    more()
    lines = save()
    expect("lines", len(lines), 14)
    more()
    pep.unload()
    more()
    pep.load()
    pepadm("profile", "set", "default", "split", SOON)
    pep.attach()
    if step:
        netem_end("pep", "wl0")
        netem("pep", "wl0", *step.split())
    restore(restored=12)
    expect("connections imported", pep.stat("follow_imported"), 12)
    more()
    pep.wait_flows(12)
    expect("they were split", pep.stat("split_bytes") +
           pep.stat("split_loss"), 12)
    more()
    for load in loads:
        load.finish()
    if link:
        netem_end("pep", "wl0")
        netem_end("sub", "eth0")
    for load in loads:
        load.expect_whole()
    expect("resets", resets(), before[0])
    if not step:
        expect_no_paws(before[1])
    pep.flows_end()


families("transfers go on, split again")(midstream)
families("transfers go on, the server opens", None, "srv", "sub")(midstream)
families("transfers over a link with a delay",
         "delay 20ms limit 5000")(midstream)
families("transfers over a link that loses",
         "delay 10ms loss random 1% limit 5000")(midstream)
families("transfers, and the link gets slower meanwhile",
         "delay 20ms limit 5000", "sub", "srv",
         "delay 120ms limit 5000")(midstream)


@families("idle ones are split when they transfer")
def idle(family):
    """One that was split, and one that has not sent enough yet."""
    was, small = pair(family), pair(family)
    exchange_part(was, 20000)
    pep.wait_flows(1)
    exchange_part(small, 1000)
    pep.quiet()
    before = resets(), paws()
    anew(2)
    shown = conns()
    for both in was, small:
        conn = shown[port(both)]
        expect("stage", conn["stage"], "followed")
        # One is measured in ticks, the other is not.
        expect_least("age", conn["age_ms"] + 20, conn["idle_ms"])
        exchange_part(both, 100)
    expect("bytes", [end["bytes"] for end in
                     shown[port(small)]["ends"].values()], [1000, 1000])
    expect("flows", pep.stat("flow_established"), 0)
    for number, both in enumerate((was, small), 1):
        one_way(both[1], both[0], 20000)
        pep.wait_flows(number)
    expect("trigger", pep.stat("split_bytes"), 2)
    for both in was, small:
        exchange(both, 50000)
    expect("resets", resets(), before[0])
    expect_no_paws(before[1])
    expect("flows", pep.stat("flow_established"), 2)


@families("again and again")
def often(family):
    """One connection with four modules in turn."""
    ends = [pair(family)]
    before = resets(), paws()
    load = Load(ends, RATE)
    for _ in range(3):
        load.more(RATE // 50, 60)
        pep.wait_flows(1)
        anew(1)
    pep.wait_flows(1)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before[0])
    expect_no_paws(before[1])


@families("without timestamps", "net.ipv4.tcp_timestamps")
@families("without SACK", "net.ipv4.tcp_sack")
@families("without a window scale", "net.ipv4.tcp_window_scaling")
def without(family, option):
    flag = {"net.ipv4.tcp_timestamps": "timestamps",
            "net.ipv4.tcp_sack": "sack"}.get(option, "wscale")
    with sysctls("sub", f"{option}=0"):
        ends = [pair(family) for _ in range(2)]
    before = resets()
    load = Load(ends, RATE // 2)
    pep.wait_flows(2)
    lines = anew(2)
    for line in lines[1:-1]:
        words = line.split()
        flags = words[words.index("wireless-flags") + 1].split(",")
        expect("has it the flag", flag in flags, False)
    pep.wait_flows(2)
    load.more(RATE // 20, 60)
    load.finish()
    load.expect_whole()
    expect("resets", resets(), before)


def never(family, make):
    """A connection that must not be split is not split afterwards either."""
    both = make(family)
    expect("flows", pep.stat("flows"), 0)
    lines = anew(1)
    expect("is it in the file", "unsplit" in lines[1], True)
    exchange_part(both, 50000)
    expect("flows", pep.stat("flow_established"), 0)
    expect("flags", "unsplit" in sum((end["flags"] for end in conns()[
        port(both)]["ends"].values()), []), True)
    return both


@families("one with urgent data stays unsplit")
def urgent(family):
    def make(family):
        near, far = pair(family)
        near.send(b"!", socket.MSG_OOB)
        one_way(far, near, 20000)
        expect("urgent byte", far.recv(1, socket.MSG_OOB), b"!")
        return near, far
    exchange(never(family, make), 1000)


@families("one of an end that checks the distance stays unsplit")
def distance(family):
    def make(family):
        with near_only("sub", family):
            both = pair(family)
        exchange_part(both, 20000)
        return both
    exchange(never(family, make), 1000)


@families("one of which an end is done, and one of which both are")
def fins(family):
    half, whole = pair(family), pair(family)
    one_way(*half, 500, fin=True)
    one_way(*whole, 500, fin=True)
    one_way(*whole[::-1], 500, fin=True)
    wait_for("both FINs", lambda: conns()[port(whole)]["stage"] == "closing")
    anew(2)
    shown = conns()
    expect("stage", shown[port(whole)]["stage"], "closing")
    expect("stage", shown[port(half)]["stage"], "followed")
    one_way(*half[::-1], 100000, fin=True)
    expect("flows", pep.stat("flow_established"), 0)


@families("what ends while no module is there")
@families("what ends, half of all numbers away", 5 << 29)
def ended(family, ahead=0):
    """A later reset matches it, however far its sequence number is."""
    both = pair(family)
    load = Load([both], 10 * RATE)
    pep.wait_flows(1)
    lines = save()
    pep.unload()
    load.more(WINDOW, 60)
    load.stop()
    pep.load()
    pep.attach()
    write([lines[0], moved(lines[1], ahead), lines[2]])
    restore(restored=1)
    for sock in both:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                        struct.pack("ii", 1, 0))
        sock.close()
    wait_for("its end", lambda: not conns())
    expect("counted", pep.stat("follow_reset"), 1)


@families("another connection with the same addresses")
def reopened(family):
    near, far = pair(family)
    exchange_part((near, far), 100)
    name = near.getsockname()[:2]
    save()
    pep.unload()
    near.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                    struct.pack("ii", 1, 0))
    near.close()
    far.close()
    pep.load()
    pep.attach()
    restore(restored=1)
    both = pair(family, bind=name)
    expect("connections", len(conns()), 1)
    exchange_part(both, 20000)
    pep.wait_flows(1)
    exchange(both, 1000)


@families("payload that has passed unseen is acknowledged")
def hole(family):
    """As when it was in flight while the module was unloaded: acknowledged
    payload is no hole."""
    hosts = Absent(family)
    hosts.open()
    hosts.down(seq=10, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=1000)
    hosts.down(seq=20010, ack=1000, payload=bytes(1000))
    hosts.until("server", bytes=2000)
    expect("flows", pep.stat("flows"), 0)
    hosts.up(seq=1000, ack=21010)
    pep.wait_flows(1)
    hosts.end()
    pep.flows_end()


@case("those that are there already, and those that are over")
def known():
    both = pair(4), pair(6)
    for each in both:
        exchange_part(each, 100)
    lines = anew(2)
    restore(known=2)
    renewed = [lines[0], changed(lines[1], idle_ms=str(9000 * 1000)),
               lines[2], lines[3]]
    save()
    renew()
    write(renewed)
    restore(restored=1, expired=1)
    time = lines[0].split()[3]
    write([changed(lines[0], time_ms=str(int(time) - 9000 * 1000))] +
          lines[1:])
    save()
    renew()
    write([changed(lines[0], time_ms=str(int(time) - 9000 * 1000))] +
          lines[1:])
    restore(expired=2)
    for days in 1, 3, 60:
        write([changed(lines[0], time_ms=str(int(time) - days * DAY))] +
              lines[1:])
        restore(expired=2)
    # A clock that was set back.
    write([changed(lines[0], time_ms=str(int(time) + 10 ** 9))] + lines[1:])
    restore(restored=2)
    for each in both:
        exchange(each, 20000)


@case("the file is the owner's, and whole")
def file_kept():
    exchange_part(pair(4), 100)
    path = service.path("flows")
    for _ in range(2):
        pepadm("flow", "save", path)
        expect("mode", stat.S_IMODE(os.stat(path).st_mode), 0o600)
    expect("files", os.listdir(service.folder()), ["flows"])
    text = pepadm("flow", "save", "-").stdout.splitlines()
    expect("first words", [line.split()[0] for line in text],
           ["pep-flows", "conn", "end"])
    done = pepadm("flow", "save", "/proc/nowhere/flows", check=False)
    expect("exit code", (done.returncode, len(done.stderr.splitlines())),
           (1, 1))
    renewed = "\n".join(text) + "\n"
    save()
    renew()
    expect("standard input", pepadm("flow", "restore", "-", stdin=renewed)
           .stdout, "restored 1 known 0 expired 0 refused 0\n")


def refused(lines, number, text, code=2):
    """Restoring fails with one message that names a line of the file, and
    nothing is restored."""
    path = write(lines)
    done = pepadm("flow", "restore", path, check=False)
    place = f"{path}:{number}: " if number else ""
    want = f"pepadm: {place}flow restore: {text}\n"
    expect("message", done.stderr, want)
    expect("exit code", done.returncode, code)
    expect("connections", conns(), {})


@case("files that are damaged")
def damaged():
    both = pair(4), pair(6)
    for each in both:
        exchange_part(each, 100)
    head, one, two, last = save()
    renew()
    number = ' is not a number from '
    for lines, at, text in (
            ([], 0, f'{service.path("flows")}: cut short, "end" is not its '
             'last line'),
            ([one, two, last], 1, 'this is no file of flow save: "pep-flows 1"'
             ' is not its first line'),
            ([head.replace("flows 1", "flows 2"), one, two, last], 1,
             "pep-flows: form 2, this pepadm knows 1"),
            (["pep-flows 1", one, two, last], 1,
             'pep-flows 1: "time-ms" and a number do not follow'),
            ([head, one, two], 0, f'{service.path("flows")}: cut short, "end" '
             'is not its last line'),
            ([head, one, last], 3, "end: 2 connections, but there are 1"),
            ([head, one, two, "end x"], 4, "end: one number does not follow"),
            ([head, one, two, last, one], 5,
             '"conn": there is a line behind "end"'),
            ([head, one, "flow 1", last], 3,
             '"flow" is not one of: conn, end'),
            ([head, one, changed(two, isn=None), last], 3, "isn: missing"),
            ([head, one, two + " isn 5", last], 3, "isn: given twice"),
            ([head, one, changed(two, isn="x"), last], 3,
             f'isn: "x"{number}0 to 4294967295'),
            ([head, one, changed(two, wireless_mss="0"), last], 3,
             f'wireless-mss: "0"{number}1 to 65535'),
            ([head, one, changed(two, server_wscale="15"), last], 3,
             f'server-wscale: "15"{number}0 to 14'),
            ([head, one, changed(two, server_bytes="-1"), last], 3,
             'server-bytes: "-1" is not a number'),
            ([head, one, changed(two, server_flags="sack,x"), last], 3,
             'server-flags: "sack,x" is neither - nor flags with commas'),
            ([head, one, changed(two, subscriber="nowhere"), last], 3,
             'subscriber: "nowhere" is not an address'),
            ([head, one, changed(two, subscriber="198.18.0.2" if ":" in two
                                 else "2001:db8::2"), last], 3,
             "server: of another family than subscriber"),
            ([head, one, changed(two, stage="split"), last], 3,
             'stage: "split" is not one of: followed, closing'),
            ([head, one, changed(two, server_port="0"), last], 3,
             f'server-port: "0"{number}1 to 65535'),
            ([head, one + "\0", two, last], 2, "a zero byte, this is no text"),
    ):
        refused(lines, at, text)
    write([head, one, two, last])
    restore(restored=2)
    for each in both:
        exchange(each, 20000)


@case("connections that the module refuses")
def kernel_refuses():
    """The others are restored; -s prints a message for each."""
    both = pair(4), pair(6)
    for each in both:
        exchange_part(each, 100)
    head, one, two, _ = save()
    bad = changed(one, wireless_edge=str(
        (int(one.split()[one.split().index("wireless-ack") + 1]) + (1 << 31))
        % NEVER))
    renew()
    path = write([head, bad, two, changed(bad, isn="7"), "end 3"])
    text = "wireless: edge: ack to ack + 2^30\n"
    for words, lines in (("-j",), (2,)), (("-j", "-s"), (2, 4)):
        done = pepadm(*words, "flow", "restore", path, check=False)
        expect("exit code", done.returncode, 1)
        expect("messages", done.stderr, "".join(
            f"pepadm: {path}:{line}: flow restore: {text}" for line in lines))
        counts = json.loads(done.stdout)
        expect("refused", (counts["refused"], counts["restored"] +
                           counts["known"]), (2, 1))
    for each in both:
        exchange(each, 20000)


@case("while no device has been attached")
def detached():
    exchange_part(pair(4), 100)
    lines = save()
    pep.unload()
    pep.load()
    refused(lines, 2, "no device has been attached yet", 1)
    expect("lines", [line.split()[0] for line in save()],
           ["pep-flows", "end"])
    pep.attach()
    write(lines)
    restore(restored=1)


@case("a full table: connections are forwarded, not followed")
def full():
    """As many connections as may be in the table."""
    pepadm("limit", "set", "connections", str(ROOM))
    head = pepadm("flow", "save", "-").stdout.splitlines()[0]
    line = "conn " + changed(LINE, subscriber_port="{}")
    path = write([head, *map(line.format, range(1, ROOM + 2)),
                  f"end {ROOM + 1}"])
    done = pepadm("-j", "flow", "restore", path, check=False)
    expect("restored", json.loads(done.stdout)["restored"], ROOM)
    expect("message", done.stderr, f"pepadm: {path}:{ROOM + 2}: flow restore: "
           "the table of connections is full\n")
    expect("followed", pep.stat("followed"), ROOM)
    expect("the limit", pep.stat("followed_limit"), ROOM)
    for family in 4, 6:
        with pep.grows(ended=False, followed=0, follow_full=1,
                       flow_established=0):
            exchange(pair(family), 20000)
    pep.early()
    for family in 4, 6:
        with pep.grows(ended=False, followed=0, follow_full=1,
                       syn_answered=0, syn_pass_no_memory=0):
            exchange(pair(family), 20000)


@case("only for the administrator")
def unprivileged():
    lines = [pepadm("flow", "save", "-").stdout.splitlines()[0],
             "conn " + LINE, "end 1"]
    other = service.write("other", "".join(line + "\n" for line in lines))
    for words in ("save", "-"), ("restore", other):
        done = run("setpriv", "--reuid", "65534", "--clear-groups",
                   env.PEPADM, "flow", *words, ns="pep", check=False)
        expect("exit code", done.returncode, 1)
        expect("message", "Operation not permitted" in done.stderr, True)
    expect("connections", conns(), {})


LINE = ("subscriber 198.18.0.77 subscriber-port 7 server 198.18.1.77 "
        "server-port 8 opener wireless stage followed age-ms 5 idle-ms 5 "
        "isn 1 " + " ".join(
            f"{side}-bytes 0 {side}-repeated 0 {side}-mss 1460 "
            f"{side}-wscale 0 {side}-flags - {side}-high 5 {side}-ack 5 "
            f"{side}-edge 99 {side}-tsval 0"
            for side in ("wireless", "server")))


def u32(value):
    """A number of 32 bits as the payload of an attribute."""
    return struct.pack("I", value)


def message(conn, ends):
    """A request from attributes by name."""
    data = b"".join(genl.attr(CONN[name], value)
                    for name, value in conn.items())
    return data + b"".join(
        genl.attr(CONN[side] | 0x8000, b"".join(
            genl.attr(END[name], value) for name, value in end.items()))
        for side, end in ends.items())


def parts(payload):
    """The attributes of an export by name: of the connection, of its ends."""
    names = {number: name for name, number in CONN.items()}
    end_names = {number: name for name, number in END.items()}
    conn = {names[kind]: data for kind, data in genl.attrs(payload)}
    ends = {side: {end_names[kind]: data
                   for kind, data in genl.attrs(conn.pop(side))}
            for side in ("wireless", "server")}
    return conn, ends


@families("messages of an export, and requests that are wrong")
def raw(family):
    both = pair(family)
    exchange_part(both, 100)
    family_id = genl.family_id("pep", "pep")
    payload, = genl.request("pep", family_id, COMMANDS["flow_export"],
                            dump=True)
    conn, ends = parts(payload)
    expect("again as it is", import_error(family_id, payload),
           (errno.EEXIST, "the connection is followed already"))
    # Exactly the required attributes are present.
    save()
    renew()
    family_id = genl.family_id("pep", "pep")
    wrong(family_id, conn, ends)
    expect("connections", conns(), {})
    genl.request("pep", family_id, COMMANDS["flow_import"],
                 message(conn, ends))
    payload, = genl.request("pep", family_id, COMMANDS["flow_export"],
                            dump=True)
    found = parts(payload)
    for each in found[0], conn:
        del each["age_ms"], each["idle_ms"]
    expect("exported again", found, (conn, ends))
    exchange(both, 20000)


def import_error(family_id, payload):
    """The error of a request, and its text."""
    try:
        genl.request("pep", family_id, COMMANDS["flow_import"], payload)
    except genl.Refused as err:
        return err.errno, err.strerror
    return 0, ""


def wrong(family_id, conn, ends):
    """Each attribute is required, and has its bounds."""
    for name in conn:
        less = {key: value for key, value in conn.items() if key != name}
        expect(name, import_error(family_id, message(less, ends)),
               (errno.EINVAL,
                f"{name.replace('_', '-')}: is required"))
    for side in ends:
        for name in ends[side]:
            if name in ("rtt_us", "dev"):
                continue
            less = {key: value for key, value in ends[side].items()
                    if key != name}
            expect(f"{side} {name}",
                   import_error(family_id, message(conn, ends |
                                                   {side: less})),
                   (errno.EINVAL, f"{side}: {name}: is required"))
    six = struct.unpack("I", conn["family"])[0] == socket.AF_INET6
    size = 16 if six else 4
    ack = struct.unpack("I", ends["server"]["ack"])[0]
    address = ("-addr: not a unicast address of another host")
    for attrs, text in (
            ({"family": u32(1)}, "family: 2 or 10"),
            ({"family": u32(2 if six else 10)},
             f"subscriber-addr: {4 if six else 16} bytes with this family"),
            ({"server_addr": b"\1\2"},
             f"server-addr: {size} bytes with this family"),
            ({"subscriber_addr": bytes(size)}, "subscriber" + address),
            ({"server_addr": b"\xff" * size}, "server" + address),
            ({"server_addr": conn["subscriber_addr"],
              "server_port": conn["subscriber_port"]},
             "server-addr: both ends are the same"),
            ({"server_port": bytes(2)}, "server-port: 1 to 65535"),
            ({"vrf": b"sv0\0"}, "vrf: no such VRF"),
            ({"stage": u32(3)},
             "stage: followed, closing after both ends' FINs"),
            ({"stage": u32(4)},
             "stage: followed, closing after both ends' FINs"),
            ({"age_ms": struct.pack("Q", 1 << 62)},
             "age-ms: 0 to 3162240000000"),
            ({"idle_ms": u32(NEVER - 1)}, "idle-ms: 0 to 86400000"),
    ):
        expect(str(attrs), import_error(family_id, message(conn | attrs,
                                                           ends)),
               (errno.EINVAL, text))
    for attrs, text in (
            ({"edge": u32((ack + (1 << 30) + 1) % NEVER)},
             "server: edge: ack to ack + 2^30"),
            ({"high": u32((struct.unpack("I", ends["wireless"]["ack"])[0] - 1)
                          % NEVER)},
             "high: the other end's ack to that + 2^30"),
            ({"flags": u32(6)},
             "wscale: 0 unless both ends have the flag"),
    ):
        server = ends["server"] | attrs
        expect(str(attrs), import_error(family_id, message(conn, ends | {
            "server": server})), (errno.EINVAL, text))
    for name, value in (("mss", 0), ("mss", 65536), ("wscale", 15),
                        ("flags", 128), ("rtt_us", 200000001)):
        server = ends["server"] | {name: u32(value)}
        err = import_error(family_id, message(conn, ends |
                                              {"server": server}))[0]
        if err not in (errno.ERANGE, errno.EINVAL):
            fail(f"{name} {value}: {err}")
    expect("silent", import_error(family_id, message(
        conn | {"idle_ms": u32(9001 * 1000)}, ends)),
        (errno.ETIME, "idle-ms: silent for longer than its stage allows"))
