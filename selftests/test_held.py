# SPDX-License-Identifier: GPL-2.0
"""A packet that was on its way to its leg when its connection was handed back:
the leg receives it afterwards, and its ends go on. A netfilter queue in INPUT
holds it, in place of a CPU that is slow."""

import contextlib
import socket

from peptest import pep
from peptest.firewall import ruled
from peptest.ktap import expect, families, wait_for
from peptest.netns import impaired, resets, run, sysctls
from peptest.nfqueue import Queue
from peptest.pep import grows
from peptest.tcp import (exchange, exchange_part, expect_reset, expect_stream,
                         next_offset, pieces)

TRAITS = {"machine"}

QUEUE = 7
SIZE = 1000             # bytes of a message, one packet
TCP = "meta l4proto tcp"
FIN = f"{TCP} tcp flags & fin == fin"
PAYLOAD = f"{TCP} meta length > {SIZE // 2}"
SECONDS = 5             # for a release; ends repeat lost packets meanwhile
LATE = 30_000_000       # us, until an end repeats a packet


def setup():
    pep.detached()
    run("modprobe", "-qa", "nfnetlink_queue", "nft_queue", check=False)
    pep.attach()
    pep.follow("handshake")


class Message:
    """A message that is sent at once; it is one packet."""

    def __init__(self, sock):
        self.offset = next_offset()
        for piece in pieces(self.offset, SIZE):
            sock.sendall(piece)

    def expect(self, sock):
        """Receive it."""
        sock.settimeout(30)
        expect_stream(sock, self.offset, SIZE)


def relayed(sock, dev):
    """A message that the leg towards the other end, by a device, has."""
    counter = "bytes_to_wireless" if dev == "wl0" else "bytes_to_server"
    sent = pep.stat(counter)
    message = Message(sock)
    wait_for("the message", lambda: pep.stat(counter) == sent + SIZE)
    return message


@contextlib.contextmanager
def holding(dev, match):
    """Within, a queue holds the packets by a device that match, in front of
    their leg; the only flow is released by the end, without a reset."""
    before = resets()
    with grows(flow_released=1, flow_killed=0):
        with Queue("pep", QUEUE) as queue, \
                ruled("pep", "input",
                      f"iifname {dev} {match} queue to {QUEUE}"):
            yield queue
        pep.flows_end(SECONDS)
        expect("resets", resets(), before)


def at_rest(family, dev):
    """A split connection at rest: the end that sends by a device, the other
    one, and a function that requests the release."""
    near, far = pep.split_pair(family)
    exchange_part((near, far), SIZE)
    pep.quiet()
    ends = (near, far) if dev == "wl0" else (far, near)
    return *ends, pep.order("flow_release")


@families("the subscriber's packet", "wl0")
@families("the server's packet", "sv0")
def held(family, dev):
    """The other end acknowledges the packet with payload of its own, and gets
    an acknowledgment of that, while the release waits for payload that was
    lost before: it ends as soon as that has arrived."""
    one, other, release = at_rest(family, dev)
    deaf = "sub" if dev == "wl0" else "srv"
    with holding(dev, PAYLOAD) as queue:
        with ruled(deaf, "input", f"{PAYLOAD} drop"):
            lost = relayed(other, dev)
            late = Message(one)
            packet = queue.wait()
            release()
            queue.accept(packet)
            late.expect(other)
            answer = Message(other)
        lost.expect(one)
        answer.expect(one)
    exchange((one, other), SIZE)


@families("the subscriber's packet behind one that has passed", "wl0")
@families("the server's packet behind one that has passed", "sv0")
def behind(family, dev):
    """The first of two packets is dropped; its repetition passes the leg, and
    is acknowledged before the leg receives the second one, which is sent on
    with its own number. A timestamp would have the leg drop it, and a probe
    would repeat it."""
    one, other = ("sub", "srv") if dev == "wl0" else ("srv", "sub")
    with sysctls(one, "net.ipv4.tcp_early_retrans=0"), \
            sysctls("sub", "net.ipv4.tcp_timestamps=0"):
        socks = dict(zip(("sub", "srv"), pep.split_pair(family)))
        exchange_part((socks["sub"], socks["srv"]), SIZE)
        hold_second(one, socks[one], socks[other], dev)
    exchange((socks["sub"], socks["srv"]), SIZE)


def hold_second(deaf, one, other, dev):
    """Release a connection as behind() says; one end receives nothing for a
    time."""
    one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    release = pep.order("flow_release")
    with holding(dev, PAYLOAD) as queue:
        with ruled(deaf, "input", f"{TCP} drop"):
            lost = relayed(other, dev)
            late = Message(one), Message(one)
            packets = queue.wait(), queue.wait()
            release()
            queue.drop(packets[0])
            late[0].expect(other)
            passed = pep.stat("pass_followed")
            answer = Message(other)
            wait_for("the answer", lambda: pep.stat("pass_followed") > passed)
            queue.accept(packets[1])
            late[1].expect(other)
        lost.expect(one)
        answer.expect(one)


@families("both ends' FINs", "wl0", "sv0")
@families("both ends' FINs, the other order", "sv0", "wl0")
def fins(family, *order):
    """The second end acknowledges the FIN that its leg sends after the leg has
    received its own: that would be TIME_WAIT, if the leg were still in the
    table of sockets."""
    near, far, release = at_rest(family, "wl0")
    ends = {"wl0": near, "sv0": far}
    hosts = {"wl0": ("sub", "eth0"), "sv0": ("srv", "eth0")}
    packets = {}
    with holding("{ wl0, sv0 }", FIN) as queue:
        with ruled("sub", "input", f"{PAYLOAD} drop"):
            lost = relayed(far, "wl0")
            for dev in order:
                ends[dev].shutdown(socket.SHUT_WR)
                packets[dev] = queue.wait()
            with impaired((hosts[order[1]],), "loss", "100%"):
                release()
                for dev in order:
                    queue.accept(packets[dev])
                    pep.quiet()
        lost.expect(near)
        wait_for("the end of the flow",
                 lambda: release() and not pep.stat("flows"))
    for sock in near, far:
        sock.settimeout(30)
        expect("the other end's FIN", sock.recv(1), b"")


@families("one end's FIN", "wl0")
@families("one end's FIN, of the server", "sv0")
def fin(family, dev):
    """The other end gets all payload, and then a reset. The end does not
    repeat the FIN meanwhile: that one would pass to the other end."""
    here, there = ("sub", "srv") if dev == "wl0" else ("srv", "sub")
    with sysctls(here, "net.ipv4.tcp_early_retrans=0",
                 f"net.ipv4.tcp_rto_min_us={LATE}"), \
            grows(flow_released=0, flow_killed=1):
        one, other, release = at_rest(family, dev)
        with Queue("pep", QUEUE) as queue, \
                ruled("pep", "input", f"iifname {dev} {FIN} queue to {QUEUE}"):
            with ruled(there, "input", f"{PAYLOAD} drop"):
                last = relayed(one, "sv0" if dev == "wl0" else "wl0")
                one.shutdown(socket.SHUT_WR)
                packet = queue.wait()
                release()
                queue.accept(packet)
                pep.quiet()
            last.expect(other)
        expect_reset(other, 40)
        pep.flows_end()


@families("the subscriber's last acknowledgment", "wl0")
@families("the server's last acknowledgment", "sv0")
def acknowledged(family, dev):
    """Neither end sends anything afterwards: the next request finds it."""
    one, other, release = at_rest(family, dev)
    with holding(dev, TCP) as queue:
        Message(other).expect(one)
        packet = queue.wait()
        release()
        queue.accept(packet)
        wait_for("the end of the flow",
                 lambda: release() and not pep.stat("flows"), SECONDS)
    exchange((one, other), SIZE)
