# SPDX-License-Identifier: GPL-2.0
"""A packet that was on its way to its leg when its connection was handed back:
the leg receives it afterwards, and its ends go on. A netfilter queue in INPUT
holds it, in place of a CPU that is slow."""

import contextlib

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import resets, run
from peptest.nfqueue import Queue
from peptest.pep import grows
from peptest.tcp import (exchange, exchange_part, expect_stream, next_offset,
                         pieces)

TRAITS = {"machine"}

QUEUE = 7
SIZE = 1000             # bytes of a message, one packet
TCP = "meta l4proto tcp"
PAYLOAD = f"{TCP} meta length > {SIZE // 2}"
SECONDS = 5             # for a release; ends repeat lost packets meanwhile


def setup():
    pep.detached()
    run("modprobe", "-qa", "nfnetlink_queue", "nft_queue", check=False)
    pep.attach()
    pep.follow("handshake")


@contextlib.contextmanager
def rule(ns, words):
    """A rule for the packets that the namespace receives, within."""
    run("nft", "-f", "-", ns=ns, stdin=f"""table inet held {{
        chain held {{ type filter hook input priority 0; {words}
        }}
    }}
    """)
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "held", ns=ns)


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


@families("the subscriber's packet", "wl0")
@families("the server's packet", "sv0")
def held(family, dev):
    """The other end acknowledges the packet with payload of its own, and gets
    an acknowledgment of that, while the release waits for payload that was
    lost before: it ends as soon as that has arrived."""
    near, far = pep.split_pair(family)
    exchange_part((near, far), SIZE)
    one, other = (near, far) if dev == "wl0" else (far, near)
    deaf = "sub" if dev == "wl0" else "srv"
    relayed = "bytes_to_wireless" if dev == "wl0" else "bytes_to_server"
    release = pep.order("flow_release")
    before = resets()
    with grows(flow_released=1, flow_killed=0):
        with Queue("pep", QUEUE) as queue, \
                rule("pep", f"iifname {dev} {PAYLOAD} queue to {QUEUE}"):
            with rule(deaf, f"{PAYLOAD} drop"):
                sent = pep.stat(relayed)
                lost = Message(other)
                wait_for("the lost message",
                         lambda: pep.stat(relayed) == sent + SIZE)
                late = Message(one)
                packet = queue.wait()
                release()
                queue.accept(packet)
                late.expect(other)
                answer = Message(other)
            lost.expect(one)
            answer.expect(one)
        pep.flows_end(SECONDS)
        expect("resets", resets(), before)
    exchange((near, far), SIZE)


@families("the subscriber's last acknowledgment", "wl0")
@families("the server's last acknowledgment", "sv0")
def acknowledged(family, dev):
    """Neither end sends anything afterwards: the next request finds it."""
    near, far = pep.split_pair(family)
    exchange_part((near, far), SIZE)
    pep.quiet()
    one, other = (near, far) if dev == "wl0" else (far, near)
    release = pep.order("flow_release")
    before = resets()
    with grows(flow_released=1):
        with Queue("pep", QUEUE) as queue, \
                rule("pep", f"iifname {dev} {TCP} queue to {QUEUE}"):
            Message(other).expect(one)
            packet = queue.wait()
            release()
            queue.accept(packet)
            wait_for("the end of the flow",
                     lambda: release() and not pep.stat("flows"), SECONDS)
        expect("resets", resets(), before)
    exchange((near, far), SIZE)
