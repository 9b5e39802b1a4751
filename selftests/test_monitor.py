# SPDX-License-Identifier: GPL-2.0
"""pepadm monitor reports flows that are established and that end."""

import ctypes
import errno
import os
import re
import signal
import socket
import subprocess
import time

from peptest import env, pep, raw
from peptest.ktap import (Failure, case, expect, expect_between, fail,
                          families, wait_for)
from peptest.monitor import SECONDS, Monitor, monitor
from peptest.netns import Within, addr, delayed, netem, netem_end, run
from peptest.pep import grows, pepadm, split_pair, split_start
from peptest.tcp import (PORT, connect, connect_errno, exchange,
                         exchange_part, expect_eof, expect_reset, listen, pair,
                         reset)

SYS_PIDFD_GETFD = 438
setup = pep.warmed
SIDE = {"sub": "wireless", "srv": "server"}
# Times of a flow that was followed: pep took no part in its handshake.
UP = {"syn", "answered", "accepted", "established", "closed"}
UP_EARLY = UP | {"syn_out"}
DATA = {"first_to_wireless", "first_to_server"}
FINS = {f"fin_{way}_{side}" for way in ("from", "to")
        for side in SIDE.values()}
_libc = ctypes.CDLL(None, use_errno=True)


def expect_times(record, names, *order):
    """Fail unless a record has exactly these times, and pairs of them are in
    order, apart by at least MS: (EARLIER, LATER[, MS])..."""
    times = record["times"]
    expect("what happened", sorted(times), sorted(f"{n}_ns" for n in names))
    for earlier, later, *apart in order:
        gap = times[later + "_ns"] - times[earlier + "_ns"]
        if gap < sum(apart) * 1000000:
            fail(f"{later} is {gap} ns after {earlier}")


@families("a flow comes up and closes")
def closed(family):
    before = time.time_ns()
    with monitor() as watch, delayed():
        near, far = split_pair(family)
        name = near.getsockname()
        new = watch.event()
        exchange((near, far), 10000)
        record = watch.event()
    after = time.time_ns()
    expect("the first", new["event"], "new")
    expect("its state", new["state"], "established")
    expect("the second", record["event"], "closed")
    expect("the same flow", record["id"], new["id"])
    expect("its cause", record["cause"], "closed")
    expect("the subscriber", record["subscriber"],
           {"addr": name[0], "port": name[1]})
    expect("the server", record["server"],
           {"addr": addr("srv", family), "port": 5000})
    for key, value in {"opener": "wireless", "profile": "default",
                       "bytes_to_wireless": 10000, "bytes_to_server": 10000,
                       "bytes_copied": 0}.items():
        expect(key, record[key], value)
    for side in "wireless", "server":
        leg = record["legs"][side]
        if leg["bytes_received"] not in (10000, 10001):     # with the FIN
            fail(f"{leg['bytes_received']} bytes from {side}")
        if not leg["srtt_us"] or leg["residence"]["samples"] < 1:
            fail(f"the {side} leg is {leg}")
    expect_times(record, UP | DATA | FINS,
                 ("syn", "accepted"), ("accepted", "established"),
                 ("established", "first_to_wireless"),
                 ("established", "first_to_server"),
                 ("first_to_wireless", "fin_to_wireless"),
                 ("first_to_server", "fin_to_server"),
                 ("fin_from_server", "fin_to_wireless"),
                 ("fin_from_wireless", "fin_to_server"),
                 ("fin_to_wireless", "closed"), ("fin_to_server", "closed"))
    times = record["times"]
    if times["syn_ns"] < before or times["closed_ns"] > after:
        fail(f"{times} are not from {before} to {after}")


def handshake(family, mode, opener, opened):
    """Packets of the opener take 50 ms, those of the other end 100."""
    order = {"follow": (("syn", "answered", 100), ("answered", "accepted", 50),
                        ("accepted", "established")),
             "early": (("syn", "syn_out"), ("syn", "accepted", 50),
                       ("syn_out", "answered", 100),
                       ("answered", "established"))}
    up = UP_EARLY if mode == "early" else UP
    pepadm("profile", "set", "default", "connect", mode)
    try:
        exchange(split_pair(family, opener, opened), 10)
        pep.flows_end()
        netem(opener, "eth0", "delay", "50ms")
        netem(opened, "eth0", "delay", "100ms")
        before = time.time_ns()
        with monitor("closed") as watch:
            exchange(split_pair(family, opener, opened), 10)
            record = watch.event()
    finally:
        netem_end(opener, "eth0")
        netem_end(opened, "eth0")
        pepadm("profile", "set", "default", "connect", "follow")
    expect_times(record, up | DATA | FINS, *order[mode])
    syn = record["times"]["syn_ns"] - before
    expect_between("ns until the SYN", syn, 50000000, 9999999999)
    expect("device", record["dev"], {"sub": "wl0", "srv": "sv0"}[opener])


for _mode in "follow", "early":
    families(f"when the ends are up, {_mode}", _mode, "sub",
             "srv")(handshake)
    families(f"when the ends are up, {_mode}, the server opens", _mode, "srv",
             "sub")(handshake)


@families("when the ends were up, of a connection that is split later")
def later(family):
    """The split is not part of its handshake."""
    pepadm("profile", "set", "default", "split", "12000")
    try:
        with monitor("closed") as watch:
            both = pair(family)
            up = time.time_ns()
            time.sleep(0.5)
            exchange_part(both, 20000)
            pep.wait_flows(1)
            exchange(both, 10)
            record = watch.event()
    finally:
        pepadm("profile", "set", "default", "split", "handshake")
    times = record["times"]
    if times["syn_ns"] > up or times["established_ns"] < up + 500000000:
        fail(f"the connection was up at {up}, split later: {times}")
    for name in "answered_ns", "accepted_ns":
        if times.get(name, 0) > up:
            fail(f"{name} is after {up}, when the connection was up: {times}")


def resets(family, opener, opened, up=frozenset(UP)):
    """Resets from either end; also after it has ended its direction."""
    for end, half in (0, False), (1, False), (0, True), (1, True):
        one, other = ((opener, opened), (opened, opener))[end]
        wanted = up | DATA | {f"rst_from_{SIDE[one]}",
                              f"rst_to_{SIDE[other]}"}
        with monitor("closed") as watch:
            both = split_pair(family, opener, opened)
            exchange_part(both, 100)
            if half:
                both[end].shutdown(socket.SHUT_WR)
                expect_eof(both[1 - end])
                wanted |= {f"fin_from_{SIDE[one]}", f"fin_to_{SIDE[other]}"}
            reset(both[end])
            if half:
                wait_for("the reset", lambda s=both[1 - end]: s.getsockopt(
                    socket.SOL_SOCKET, socket.SO_ERROR) == errno.EPIPE)
            else:
                expect_reset(both[1 - end])
            record = watch.event()
        expect("its cause", record["cause"], "reset")
        expect_times(record, wanted, ("established",
                                      f"rst_from_{SIDE[one]}"),
                     (f"rst_from_{SIDE[one]}", f"rst_to_{SIDE[other]}"),
                     (f"rst_to_{SIDE[other]}", "closed"))
        both[1 - end].close()


families("who has reset a flow", "sub", "srv")(resets)
families("who has reset a flow that the server opened", "srv", "sub")(resets)


@families("who has reset a flow that was answered early")
def resets_early(family):
    pepadm("profile", "set", "default", "connect", "early")
    try:
        resets(family, "sub", "srv", UP_EARLY)
        resets(family, "srv", "sub", UP_EARLY)
        netem("srv", "eth0", "delay", "50ms")
        with monitor("closed") as watch:
            expect_reset(connect("sub", family, addr("srv", family), 5001))
            record = watch.event()
        expect("its cause", record["cause"], "connect-refused")
        expect_times(record, {"syn", "accepted", "syn_out", "closed",
                              "rst_from_server", "rst_to_wireless"},
                     ("syn_out", "rst_from_server", 50))
    finally:
        netem_end("srv", "eth0")
        pepadm("profile", "set", "default", "connect", "follow")


@families("connections that do not come up make no event")
def no_flow(family):
    """A refusal, and an opener that gives up: the SYN is forged, and its host
    resets the answer. Connections that are never split make none either."""
    listen("srv", family)
    ends = addr("sub", family), addr("srv", family)
    wire = raw.Wire("sub")
    with monitor(), grows(follow_new=2, follow_reset=2,
                          flow_established=0) as before:
        expect("a refusal", connect_errno("sub", family, addr("srv", family),
                                          5001), "ECONNREFUSED")
        wire.send(raw.segment(*ends, 999, PORT, flags=raw.SYN, seq=1000))
        wait_for("the end of both", lambda: pep.stat("follow_reset") ==
                 before["follow_reset"] + 2)
    pepadm("profile", "set", "default", "split", "never")
    try:
        with monitor(), grows(follow_established=1, follow_closed=1):
            exchange(pair(family), 20000)
    finally:
        pepadm("profile", "set", "default", "split", "handshake")


@families("a refusal by an ICMP error is no reset")
def refused_by_icmp(family):
    """With an opener that was answered early. The error is delayed: TCP
    ignores one that arrives while connect() is running."""
    run("nft", "-f", "-", ns="srv", stdin="""table inet closed {
        chain input {
            type filter hook input priority 0
            tcp dport 5001 reject with icmpx port-unreachable
        }
    }""")
    netem("srv", "eth0", "delay", "50ms")
    pepadm("profile", "set", "default", "connect", "early")
    try:
        with monitor("closed") as watch:
            expect_reset(connect("sub", family, addr("srv", family), 5001))
            record = watch.event()
    finally:
        pepadm("profile", "set", "default", "connect", "follow")
        netem_end("srv", "eth0")
        run("nft", "delete", "table", "inet", "closed", ns="srv")
    expect("its cause", record["cause"], "connect-refused")
    expect_times(record, {"syn", "accepted", "syn_out", "rst_to_wireless",
                          "closed"})


@families("flows that end in other ways")
def causes(family):
    with monitor("closed") as watch:
        near, far = split_pair(family)
        reset(near)
        expect_reset(far)
        expect("a reset", watch.event()["cause"], "reset")
        both = split_pair(family)
        exchange_part(both, 10)
        pep.quiet()
        pepadm("flow", "release", "all")
        record = watch.event()
        expect("handed back", record["cause"], "released")
        expect_times(record, UP | DATA)
        exchange(both, 10)
        both = split_pair(family)
        pepadm("flow", "kill", "all")
        for sock in both:
            expect_reset(sock)
        record = watch.event()
        expect("killed", record["cause"], "killed")
        expect_times(record, UP | {"rst_to_wireless", "rst_to_server"})
    with monitor("new") as watch:
        exchange(split_pair(family), 10)
        expect("only what was asked for", watch.event()["event"], "new")
        pep.flows_end()


def shrink(process):
    """Set the queue of a process's netlink socket to its minimum."""
    pidfd = os.pidfd_open(process.pid)
    for name in os.listdir(f"/proc/{process.pid}/fd"):
        if not os.readlink(f"/proc/{process.pid}/fd/{name}").startswith(
                "socket:"):
            continue
        fd = _libc.syscall(SYS_PIDFD_GETFD, pidfd, int(name), 0)
        if fd < 0:
            raise OSError(ctypes.get_errno(), "pidfd_getfd")
        with socket.socket(fileno=fd) as sock:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    os.close(pidfd)


def seen(watch):
    """Create a flow; is there an event of it? Only once the queue is empty."""
    both = pair(4)
    try:
        while watch.event(1).get("subscriber", {}).get("port") != \
                both[0].getsockname()[1]:
            pass
    except Failure:
        return False
    return True


@case("events that are lost")
def lost():
    """The monitor is stopped while more happens than its queue can hold: it
    reports the loss, and goes on with later events."""
    watch = Monitor()
    try:
        shrink(watch.process)
        watch.process.send_signal(signal.SIGSTOP)
        for both in split_start(4, 50):
            exchange(both, 10)
        pep.flows_end()
        watch.process.send_signal(signal.SIGCONT)
        events = [watch.event()["event"]]
        while events[-1] != "lost":
            events.append(watch.event()["event"])
        if len(events) >= 100:
            fail("nothing was lost")
        wait_for("an event of a new flow", lambda: seen(watch))
    finally:
        watch.process.kill()
        watch.process.wait()


@case("a limit that is reached")
def overload():
    """Reported when it is reached, and not again with each SYN; draining is no
    limit."""
    pepadm("limit", "set", "flows", "1")
    try:
        with monitor("limits") as watch:
            both = split_pair(4)
            for family in 4, 6:
                exchange(pair(family), 10)
            event = watch.event()
            if event.pop("flows") < 1:
                fail("without a flow")
            expect("event", event, {"event": "overload",
                                    "counter": "split_pass_max_flows"})
            exchange(both, 10)
            pep.flows_end()
            pepadm("drain", "on")
            exchange(pair(4), 10)
            expect("the next one", watch.event()["event"], "drained")
    finally:
        pepadm("drain", "off")
        pepadm("limit", "set", "flows",
               str(pep.default_limits()["flows"]))


@families("draining that is done")
def drained(family):
    """Reported when the last flow has ended, at once if there is none, and
    once per start of draining."""
    try:
        with monitor() as watch:
            both = pair(family)
            expect("a flow", watch.event()["event"], "new")
            pepadm("drain", "on")
            pepadm("drain", "on")
            exchange(both, 10)
            expect("its end", watch.event()["event"], "closed")
            expect("the end of all", watch.event(), {"event": "drained"})
            pepadm("drain", "on")
            pepadm("drain", "off")
            pepadm("drain", "on")
            expect("once more", watch.event(), {"event": "drained"})
    finally:
        pepadm("drain", "off")


@case("who may not see flows is refused")
def unprivileged():
    for words in (("setpriv", "--reuid", "65534", "--clear-groups"),
                  ("unshare", "--user", "--map-root-user")):
        done = run(*words, env.PEPADM, "monitor", ns="pep", check=False,
                   seconds=10)
        expect(f"{words[0]}: exit code", done.returncode, 1)
        expect(f"{words[0]}: message", done.stderr,
               f"pepadm: monitor show: {os.strerror(errno.EPERM)}\n")


@case("as text, and while the module goes")
def text():
    with Within("pep"):
        process = subprocess.Popen([env.PEPADM, "-d", "monitor"], text=True,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
    try:
        wait_for("its membership", lambda: Monitor.listens(
            type("", (), {"process": process})))
        exchange(split_pair(4), 100)
        pep.flows_end()
        pep.detach()
        pep.unload()
        expect("its exit code", process.wait(SECONDS), 1)
        pep.load()
        pep.attach()
    finally:
        process.kill()
        out, err = process.communicate()
    expect("its last words", err,
           "pepadm: monitor show: the pep module has gone\n")
    lines = [line.split()[0] for line in out.splitlines()
             if not line.startswith(" ")]
    expect("events", lines, ["new", "closed"])
    if "closed cause closed flow " not in out:
        fail(f"it said {out!r}")
    last = out.splitlines()[-1].split()
    expect("times", sorted(last[::2]), sorted(
        name.replace("_", "-") for name in UP | DATA | FINS))
    if not re.fullmatch(r"\d{10}\.\d{9}", last[1]):
        fail(f"the SYN came at {last[1]}")
    for value in last[3::2]:
        if not re.fullmatch(r"\d+\.\d{3}ms", value):
            fail(f"times after it are {last}")
