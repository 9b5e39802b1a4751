# SPDX-License-Identifier: GPL-2.0
"""What pepadm monitor tells of flows that come up and end."""

import contextlib
import ctypes
import errno
import json
import os
import select
import signal
import socket
import subprocess
import time

from peptest import env, pep
from peptest.ktap import Failure, case, expect, fail, families, wait_for
from peptest.netns import Within, addr, run
from peptest.pep import pepadm
from peptest.tcp import (connect_errno, exchange, expect_reset, pair, reset,
                         start)

SYS_PIDFD_GETFD = 438
SECONDS = 30
_libc = ctypes.CDLL(None, use_errno=True)


class Monitor:
    """pepadm monitor, which is a member of the group from here on."""

    def __init__(self, *words):
        with Within("pep"):
            self.process = subprocess.Popen(
                [env.PEPADM, "-j", "monitor", *words],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.text = b""
        wait_for("its membership", self.listens)

    def listens(self):
        """Is it a member of a group of generic netlink?"""
        with Within("pep"), open("/proc/thread-self/net/netlink",
                                 encoding="ascii") as file:
            rows = [line.split() for line in file.readlines()[1:]]
        return any(row[1] == "16" and int(row[2]) == self.process.pid and
                   int(row[3], 16) for row in rows)

    def event(self, seconds=SECONDS):
        """The next event."""
        end = time.monotonic() + seconds
        while b"\n" not in self.text:
            left = end - time.monotonic()
            if left < 0 or not select.select([self.process.stdout], [], [],
                                             left)[0]:
                raise Failure("no event in time")
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                raise Failure("it has ended: " +
                              self.process.stderr.read().decode())
            self.text += more
        line, _, self.text = self.text.partition(b"\n")
        return json.loads(line)

    def end(self):
        """End it; no event was left."""
        self.process.kill()
        rest = self.text + self.process.communicate()[0]
        expect("events that nobody asked for", rest, b"")


@contextlib.contextmanager
def monitor(*words):
    """Watch for a while."""
    watch = Monitor(*words)
    try:
        yield watch
        watch.end()
    finally:
        watch.process.kill()
        watch.process.wait()


@families("a flow comes up and closes")
def closed(family):
    before = time.time_ns()
    with monitor() as watch:
        near, far = pair(family)
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
    times = record["times"]
    expect("times", len(times), 8)
    for earlier, later in (("syn", "answered"), ("answered", "established"),
                           ("established", "first_to_wireless"),
                           ("established", "first_to_server"),
                           ("first_to_wireless", "fin_to_wireless"),
                           ("first_to_server", "fin_to_server"),
                           ("fin_to_wireless", "closed"),
                           ("fin_to_server", "closed")):
        if times[earlier + "_ns"] > times[later + "_ns"]:
            fail(f"{earlier} is after {later}: {times}")
    if times["syn_ns"] < before or times["closed_ns"] > after:
        fail(f"{times} are not from {before} to {after}")


@families("flows that end in other ways")
def causes(family):
    with monitor("closed") as watch:
        expect("a refusal", connect_errno("sub", family, addr("srv", family),
                                          5001), "ECONNREFUSED")
        record = watch.event()
        expect("its cause", record["cause"], "connect-refused")
        for time_of in "answered_ns", "established_ns":
            if time_of in record["times"]:
                fail(f"{time_of} is in {record['times']}")
        near, far = pair(family)
        reset(near)
        expect_reset(far)
        expect("a reset", watch.event()["cause"], "reset")
        both = pair(family)
        pepadm("flow", "kill", "all")
        for sock in both:
            expect_reset(sock)
        expect("killed", watch.event()["cause"], "killed")
    with monitor("new") as watch:
        exchange(pair(family), 10)
        expect("only what was asked for", watch.event()["event"], "new")
        pep.flows_end()


def shrink(process):
    """Let the queue of a process's netlink socket be as small as can be."""
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
    """Make a flow; is there an event of it? Not before the queue is empty."""
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
    """It sleeps while more happens than its queue can take: it tells so, and
    goes on with those that come then."""
    watch = Monitor()
    try:
        shrink(watch.process)
        watch.process.send_signal(signal.SIGSTOP)
        for both in start(4, 50):
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
    """Told when it is, and not again with each SYN; a drain is not one."""
    pepadm("limit", "set", "flows", "1")
    try:
        with monitor("limits") as watch:
            both = pair(4)
            for family in 4, 6:
                exchange(pair(family), 10)
            event = watch.event()
            if event.pop("flows") < 1:
                fail("without a flow")
            expect("event", event, {"event": "overload",
                                    "counter": "syn_pass_max_flows"})
            exchange(both, 10)
            pep.flows_end()
            pepadm("drain", "on")
            exchange(pair(4), 10)
            expect("the next one", watch.event()["event"], "drained")
    finally:
        pepadm("drain", "off")
        pepadm("limit", "set", "flows", "262144")


@families("draining that is done")
def drained(family):
    """Told when the last flow has ended, at once where there is none, and once
    for each time that it begins."""
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
        process = subprocess.Popen([env.PEPADM, "monitor"], text=True,
                                   stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
    try:
        wait_for("its membership", lambda: Monitor.listens(
            type("", (), {"process": process})))
        exchange(pair(4), 100)
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
