# SPDX-License-Identifier: GPL-2.0
"""Connections are handed back to their ends after they have been idle for
release-idle, and taken over again when they are used again, any number of
times. The ends notice only a change of round trip."""

import contextlib
import json
import os
import socket
import time

from peptest import env, pep
from peptest.env import amount
from peptest.firewall import ruled
from peptest.ktap import (after_case, case, expect, expect_least, expect_most,
                          fail, families, note, wait_for)
from peptest.monitor import monitor
from peptest.netns import (SERVER, WIRELESS, netem, netem_end, nstat, paws,
                           resets, run, single_packets, sysctls)
from peptest.pep import grows, least, pepadm
from peptest.tcp import (End, exchange, exchange_part, expect_same, fill,
                         one_way, pair, pump, start)

TRAITS = {"once"}

GENERATIONS = 100
POOL = 1536             # bytes per CPU and generation, at least
SOCKETS = 128           # sockets in its pool, at most
UNIT = 3 if env.SLOW else 1
IDLE = 2 * UNIT         # release-idle of most cases, seconds


def setup():
    """Attached, with the default release-idle."""
    pep.attached()


@after_case
def defaults():
    """Each case begins without settings of another and without delays."""
    if pep.loaded():
        for ns, dev in WIRELESS + SERVER:
            netem_end(ns, dev)
        pepadm("profile", "replace", "default")


def use(split="12000", seconds=IDLE, *words):
    """Set the triggers, and release-idle, of new connections."""
    pepadm("profile", "set", "default", "release-idle", str(seconds), *words)
    pep.follow(split)


def conns(stage):
    """Connections in a stage from pepadm's JSON output."""
    return json.loads(pepadm("-j", "conn", "show", "stage", stage).stdout)


def keep_alive(sock, probes):
    """Have an end send keepalive probes, one a second, or none."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, probes)
    if probes:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 1)


def sockets():
    """Connected TCP sockets of the gateway."""
    return run("ss", "-HOtn", "state", "established", ns="pep").stdout


def back(count=1):
    """Wait until all flows have been handed back; fail if the gateway keeps a
    socket or payload of them."""
    pep.flows_end()
    wait_for("sockets to go", lambda: not sockets())
    followed = conns("followed")
    expect("followed connections", len(followed), count)
    for conn in followed:
        expect("does a flow have it", "flow" in conn, False)
        expect("copies", conn["copies"], 0)
        for end in conn["ends"].values():
            expect("unacknowledged", end["unacked"], 0)
    return followed


@contextlib.contextmanager
def unharmed():
    """Fail if an end drops a segment because of PAWS, or a host sends a
    reset."""
    before = paws(), resets()
    yield
    expect("PAWS and resets", (paws(), resets()), before)


def again(family, opener, opened, split, counter):
    """Used three times after it was handed back, and split each time."""
    use(split)
    rounds = ((40000, 100), (100, 40000), (30000, 30000), (amount(400000), 0))
    with unharmed(), grows(flow_released_idle=len(rounds), follow_closed=1,
                           flow_released=0, flow_reset=0, flow_killed=0,
                           flow_idle=0, split_pass_end=0,
                           **{counter: len(rounds)}):
        ends = pair(family, opener, opened)
        sent = [0, 0]
        for sizes in rounds:
            exchange_part(ends, *sizes)
            sent = [sum(both) for both in zip(sent, sizes)]
            conn, = back()
            sides = ("wireless", "server")
            expect("bytes", [conn["ends"][side]["bytes"] for side in (
                sides if opener == "sub" else sides[::-1])], sent)
            trigger, = conn["trigger"]
            expect("trigger", trigger, counter.removeprefix("split_"))
        exchange(ends, 0)


for _opener, _opened in ("sub", "srv"), ("srv", "sub"):
    families(f"used again and again, {_opener} opens", _opener, _opened,
             "12000", "split_bytes")(again)
families("used again and again, split handshake", "sub", "srv", "handshake",
         "split_handshake")(again)


def bare(family, ns, setting):
    """One of the ends lacks an option."""
    with sysctls(ns, f"net.ipv4.{setting}=0"):
        again(family, "sub", "srv", "12000", "split_bytes")


for _ns in "sub", "srv":
    for _setting in "tcp_timestamps", "tcp_sack", "tcp_window_scaling":
        families(f"without {_setting} at {_ns}", _ns, _setting)(bare)


@families("taken over again within the first flight")
def flight(family):
    """Of 100,000 bytes that follow a request only the server's first flight
    passes."""
    use()
    for ns, dev in WIRELESS[1], SERVER[1]:
        netem(ns, dev, "delay", "40ms")
    near, far = pair(family)
    exchange_part((near, far), 100, 40000)
    back()
    before = pep.stat("bytes_to_wireless")
    one_way(near, far, 100)
    one_way(far, near, 100000)
    expect_least("bytes relayed",
                 pep.stat("bytes_to_wireless") - before, 80000)
    back()
    exchange((near, far), 100)


@families("used a little after it was handed back")
def little(family):
    """Only payload sent from then on counts."""
    use()
    ends = pair(family)
    one_way(*ends, 40000)
    back()
    with grows(flow_established=0):
        for _ in range(3):
            one_way(*ends, 3000)
    with grows(split_bytes=1, ended=False):
        one_way(*ends, 3000)
        pep.wait_flows(1)
    exchange(ends, 100)


def pushes(ends, size):
    """Three times the connection is handed back, and split again by payload of
    the server; then it ends."""
    for _ in range(3):
        back()
        with unharmed(), grows(ended=False, split_bytes=1):
            one_way(ends[1], ends[0], size)
    back()
    exchange(ends, 100)


@families("only the server sends after it was handed back")
def pushed(family):
    """The subscriber's acknowledgments show that it is reachable."""
    use()
    netem("sub", "eth0", "delay", "20ms")
    ends = pair(family)
    exchange_part(ends, 100, 40000)
    pushes(ends, 200000)


@families("split loss: a loss after it was handed back")
def loss(family):
    use("loss")
    single_packets("pep", "wl0")
    single_packets("srv", "eth0")
    netem("pep", "wl0", *"delay 5ms loss random 5% limit 5000".split())
    ends = pair(family)
    with grows(split_loss=2, flow_released_idle=2, flow_reset=0):
        for _ in range(2):
            one_way(ends[1], ends[0], 1000000)
            back()
    exchange(ends, 100)


@families("payload that waits keeps its flow")
def stalled(family):
    """The receiving end does not read for a long time."""
    use()
    near, far = pair(family)
    exchange_part((near, far), 20000)
    with grows(ended=False, flow_released_idle=0, flow_reset=0):
        sender, receiver = End(near, 1 << 40), End(far, 0, wanted=None)
        fill([sender])
        time.sleep(5 * IDLE)
        expect("flows", pep.stat("flows"), 1)
    sender.size = sender.sent
    with grows(flow_released_idle=0, flow_closed=1, flow_reset=0):
        pump([receiver, sender])
        expect_same(sender, receiver)
        near.close()
        far.close()


@families("payload that comes as they are handed back")
def paused(family):
    """Many connections with pauses of about release-idle, each of a different
    length. Every one is handed back and taken over a few times."""
    use("handshake", 1)
    with unharmed(), grows(flow_released_idle=least(40), flow_reset=0,
                           flow_killed=0):
        ends = []
        for i, (near, far) in enumerate(start(family, 30)):
            # A thousand bytes at once, every 0.85 to 1.5 s.
            sender = End(near if i % 2 else far, amount(20000), wanted=0,
                         rate=1000 / (0.85 + 0.0225 * i))
            receiver = End(far if i % 2 else near, 0, fin=False)
            ends.append((sender, receiver))
        pump([end for both in ends for end in both], 100)
        for sender, receiver in ends:
            expect_same(sender, receiver)
            receiver.sock.close()
            sender.sock.close()


def stepped(family, first, then):
    """The delay of the link changes while the connection is idle, and neither
    end mistakes new segments for old ones."""
    use()
    netem("sub", "eth0", "delay", first, "limit", "5000")
    netem("srv", "eth0", "delay", then, "limit", "5000")
    ends = pair(family)
    exchange_part(ends, 30000)
    with unharmed(), grows(ended=False, split_bytes=3):
        for sub, srv in (then, first), (first, then), (then, first):
            netem("sub", "eth0", "delay", sub, "limit", "5000")
            netem("srv", "eth0", "delay", srv, "limit", "5000")
            back()
            exchange_part(ends, 50000)
    back()
    exchange(ends, 1000)


families("the delay grows while it is idle", "10ms", "210ms")(stepped)
families("the delay shrinks while it is idle", "210ms", "10ms")(stepped)


@families("legs have probed their ends before")
def probed(family):
    """The probes have advanced the legs' clocks, and the clocks of the next
    legs must not be behind them."""
    use("12000", 4 * UNIT, "keepalive-idle", "1", "keepalive-interval", "1")
    ends = pair(family)
    exchange_part(ends, 30000)
    pushes(ends, 50000)


@families("the last packet before was under way for long")
def delayed(family):
    """Longer than the others, so that its end's clock seems to be behind its
    leg's. The answers to the probes show that it is not."""
    use("12000", IDLE, "keepalive-idle", "1", "keepalive-interval", "1")
    ends = pair(family)
    exchange_part(ends, 30000)
    netem("sub", "eth0", "delay", "1500ms")
    one_way(*ends, 100)
    time.sleep(2 * IDLE)
    expect("flows", pep.stat("flows"), 1)
    netem_end("sub", "eth0")
    back()
    exchange(ends, 100)


@families("the server asks whether a silent subscriber is alive")
def asked(family):
    """The leg answers with a clock that goes on. A phone's stands still while
    it sleeps, and it does not answer when it is asked in its turn: it is
    handed back when it has shown its own."""
    use()
    near, far = pair(family)
    exchange_part((near, far), 40000)
    keep_alive(far, True)
    with ruled("sub", "output", "meta l4proto tcp drop"), \
            grows(ended=False, flow_released_idle=0):
        time.sleep(10 * IDLE)
        expect("flows", pep.stat("flows"), 1)
    back()
    keep_alive(far, False)
    exchange((near, far), 100)


@families("a short answer over a long link after it was handed back")
def answered(family):
    """The server knows the round trip of its leg, a shorter one, and repeats
    what is not lost: that is no reason to split it."""
    use("12000,loss")
    netem("sub", "eth0", "delay", "300ms")
    ends = pair(family)
    exchange_part(ends, 100, 100000)
    back()
    with grows(flow_established=0, ended=False):
        exchange_part(ends, 100, 5000)
        wait_for("repetitions", lambda: conns("followed")[0]["ends"]["server"][
            "repeated"])
        exchange_part(ends, 100, 5000)
    exchange(ends, 100)


@families("the ends' own keepalive goes on")
def alive(family):
    """Its probes and answers pass, and do not trigger a split."""
    use("handshake", 1)
    near, far = pair(family)
    keep_alive(near, True)
    exchange_part((near, far), 1000)
    back()
    before = pep.stat("pass_followed")
    with grows(flow_established=0):
        wait_for("probes and answers",
                 lambda: pep.stat("pass_followed") >= before + 12)
    with grows(split_handshake=1):
        exchange((near, far), 1000)


@families("the ends' own keepalive reaches the other end, split", "follow")
@families("the ends' own keepalive reaches the other end, answered early",
          "early")
def alive_split(family, connect):
    """Each leg answers for an end, and asks it in its turn: what is between
    them may forget silent connections."""
    use("handshake", 0, "connect", connect)
    ends = dict(zip(("sub", "srv"), pep.split_pair(family, size=1000)))
    for ns, other in ("sub", "srv"), ("srv", "sub"):
        pep.quiet()
        keep_alive(ends[ns], True)
        before = nstat(other, "TcpInSegs")
        wait_for("probes", lambda: nstat(other, "TcpInSegs") >= before + 5)
        keep_alive(ends[ns], False)
    exchange(tuple(ends.values()), 1000)


@families("set while flows are up")
def live(family):
    """The timer starts for a flow that had none, or a long one, and stops for
    one that has it."""
    use("handshake", 0)
    ends = pair(family)
    exchange_part(ends, 1000)
    for word in None, "600000":
        if word:
            pepadm("profile", "set", "default", "release-idle", word, "live")
        time.sleep(4 * IDLE)
        expect("flows", pep.stat("flows"), 1)
    with grows(flow_released_idle=1):
        pepadm("profile", "set", "default", "release-idle", str(IDLE), "live")
        pep.flows_end()
    exchange_part(ends, 1000)
    pep.wait_flows(1)
    pepadm("profile", "set", "default", "release-idle", "0", "live")
    time.sleep(4 * IDLE)
    expect("flows", pep.stat("flows"), 1)
    exchange(ends, 1000)


@families("idle-timeout comes first where it is shorter, and last where not")
def timeout(family):
    use("handshake", 3 * IDLE, "idle-timeout", str(IDLE))
    with grows(flow_idle=1, flow_released_idle=0):
        ends = pair(family)
        exchange_part(ends, 1000)
        pep.flows_end()
    use("handshake", IDLE, "idle-timeout", str(3 * IDLE))
    with grows(flow_idle=0, flow_released_idle=1):
        ends = pair(family)
        exchange_part(ends, 1000)
        pep.flows_end()
    time.sleep(4 * IDLE)
    exchange(ends, 1000)


@families("flows that cannot be handed back stay")
def stay(family):
    """One that pep has answered itself, and one with a finished end."""
    use("handshake")
    near, far = pep.split_pair(family)
    one_way(near, far, 1000, fin=True)
    pep.early()
    other = pair(family)
    exchange_part(other, 1000)
    with grows(ended=False, flow_released_idle=0, flow_reset=0):
        time.sleep(5 * IDLE)
        expect("flows", pep.stat("flows"), 2)
    with grows(flow_closed=2):
        one_way(far, near, 1000, fin=True)
        near.close()
        far.close()
        exchange(other, 1000)


@families("never to be split by then")
def never(family):
    """The profile's settings at the time of the next use apply."""
    use("handshake")
    ends = pair(family)
    exchange_part(ends, 1000)
    back()
    pepadm("profile", "set", "default", "split", "never")
    with grows(flow_established=0):
        exchange_part(ends, 30000)
    pep.follow("1")
    with grows(split_bytes=1, ended=False):
        exchange_part(ends, 30000)
    exchange(ends, 100)


@case("the profile is another one by then")
def changed():
    """Its old sockets are gone, and its new ones are used: also when the
    connection had begun to send before. One that ends instead counts. That
    takes more than a minute, so the families share it."""
    use()
    silent, talking, ending = pair(4), pair(6), pair(4)
    for ends in silent, talking, ending:
        exchange_part(ends, 30000)
    back(3)
    for ends in talking, ending:
        exchange_part(ends, 100)
    pepadm("profile", "set", "default", "cc-wireless", "reno")
    time.sleep(70)
    with grows(ended=False, split_pass_end=1, split_bytes=0):
        one_way(*ending, 10)
        exchange(ending, 0)
    for ends in silent, talking:
        exchange_part(ends, 100)
        exchange_part(ends, 30000)
    expect("congestion control", [flow["legs"]["wireless"]["cc"]
                                  for flow in pep.flows()], ["reno", "reno"])
    for ends in silent, talking:
        exchange(ends, 100)


@families("detached and attached again by then")
def attached(family):
    """Without devices nothing can split it."""
    use("handshake")
    ends = pair(family)
    exchange_part(ends, 1000)
    back()
    pep.detach()
    pep.attach()
    with grows(split_handshake=1, split_pass_device=0, ended=False):
        exchange_part(ends, 1000)
        pep.wait_flows(1)
    exchange(ends, 1000)


@families("a connection that was handed back at a command is not split again")
def commanded(family):
    use()
    ends = pair(family)
    exchange_part(ends, 30000)
    pep.quiet()
    pepadm("flow", "release", "all")
    conn, = back()
    expect("trigger", conn["trigger"], [])
    with grows(flow_established=0):
        exchange(ends, 50000)


@families("its record")
def record(family):
    """It shows a release and no reset of an end; the record of its successor
    has no times of a handshake."""
    use("handshake")
    ends = pair(family)
    with monitor("closed") as watch:
        for known in True, False:
            exchange_part(ends, 1000)
            found = watch.event()
            expect("its cause", found["cause"], "released")
            expect("is the answer's time known",
                   "answered_ns" in found["times"], known)
            if "rst_to_wireless_ns" in found["times"]:
                fail("it was reset")
            back()
    exchange(ends, 1000)


@families("its record, when it was handed back at a command")
def record_commanded(family):
    """It can be split again after a side has had no device."""
    use("handshake")
    ends = pair(family)
    with monitor("closed") as watch:
        for known in True, False:
            exchange_part(ends, 1000)
            pep.wait_flows(1)
            pepadm("flow", "release", "all")
            found = watch.event()
            expect("is the answer's time known",
                   "answered_ns" in found["times"], known)
            pep.detach()
            pep.attach()
    exchange(ends, 1000)


def percpu():
    """The kernel's per-CPU memory, bytes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        size, = (line.split()[1] for line in file
                 if line.startswith("Percpu:"))
    return int(size) * 1024


def aged(every):
    """Split many connections, each with a generation of its own, and let them
    become idle. Return the kernel's per-CPU memory while all of these
    generations exist: each has a pool on every CPU."""
    for _ in range(GENERATIONS):
        pepadm("profile", "set", "default", "mark", str(len(every) + 1))
        every.append(pep.split_pair(4))
        exchange_part(every[-1], 100)
    size = percpu()
    back(len(every))
    return size


@case("settings of before keep no memory", seconds=250)
def generations():
    """Idle connections keep neither the sockets of old settings nor the
    settings: as many new ones reuse the memory of the first ones."""
    use("handshake")
    every = []
    first = aged(every)
    expect_least("sockets of all settings", pep.stat("pool_sockets"),
                 GENERATIONS * SOCKETS // 4)
    wait_for("the sockets of old settings to go", lambda: pep.stat(
        "pool_sockets") <= SOCKETS * os.cpu_count(), 150)
    second = aged(every)
    note("memory of the CPUs:", first, second)
    expect_most("memory with the second ones", second,
                first + GENERATIONS * POOL // 2 * os.cpu_count())
    for ends in every:
        exchange(ends, 100)
