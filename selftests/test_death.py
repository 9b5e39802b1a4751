# SPDX-License-Identifier: GPL-2.0
"""One end vanishes silently: its link goes down, or drops all packets, while
payload is queued in either direction, or in none. The other end gets an error,
never a clean end, and no flow is left.

TCP's timeouts are short: three seconds for a missing answer, and as long on an
idle connection (keepalive)."""

import errno
import socket
import threading

from peptest import pep
from peptest.ktap import expect, families, wait_for
from peptest.netns import addr, ip, netem, run, sysctl
from peptest.pep import grows, split_pair
from peptest.tcp import End, exchange, fill, one_way, outcome, pair

TRAITS = {"waits", "simulated"}

MUCH = 1 << 30
SECONDS = 40
LINKS = {"sub": ("eth0", "wl0"), "srv": ("eth0", "sv0")}
SHORT = ("net.ipv4.tcp_retries2=3", "net.ipv4.tcp_orphan_retries=2",
         "net.ipv4.tcp_keepalive_time=2", "net.ipv4.tcp_keepalive_intvl=1",
         "net.ipv4.tcp_keepalive_probes=2", "net.ipv4.tcp_syn_retries=2")


def setup():
    """Short timeouts in the gateway; those of the ends stay unchanged."""
    pep.attached()
    sysctl("pep", *SHORT)
    for ns in LINKS:
        sysctl(ns, "net.ipv6.conf.eth0.keep_addr_on_down=1")


def both_queued(gone, left):
    """Neither end has read."""
    return [End(gone, MUCH), End(left, MUCH)]


def queued_to_gone(gone, left):
    """The vanishing end has not read."""
    one_way(gone, left, 1000)
    return [End(left, MUCH)]


def queued_from_gone(gone, left):
    """The remaining end has not read yet."""
    one_way(left, gone, 1000)
    return [End(gone, MUCH)]


def idle(gone, left):
    """All payload has been exchanged."""
    one_way(gone, left, 1000)
    one_way(left, gone, 1000)
    return []


def half_closed(gone, left):
    """The remaining end has ended its direction, and waits."""
    one_way(left, gone, 1000, fin=True)
    return []


def gone_half_closed(gone, left):
    """The vanishing end had ended its direction cleanly; the other continues
    to send."""
    one_way(gone, left, 1000, fin=True)
    return [End(left, MUCH)]


STATES = (both_queued, queued_to_gone, queued_from_gone, idle, half_closed,
          gone_half_closed)


def error_behind_end(sock):
    """The error of a connection after its peer's FIN."""
    found = wait_for("an error", lambda: sock.getsockopt(
        socket.SOL_SOCKET, socket.SO_ERROR), SECONDS)
    return errno.errorcode[found]


def vanish(ns, how):
    """Make an end vanish: set its link down, or drop all packets on it."""
    near, far = LINKS[ns]
    if how == "link":
        ip(ns, f"link set {near} down")
    else:
        netem(ns, near, "loss", "100%")
        netem("pep", far, "loss", "100%")


def come_back(ns, how):
    """Restore the end for the next case."""
    near, far = LINKS[ns]
    if how == "loss":
        netem(ns, near, "off")
        netem("pep", far, "off")
    else:
        ip(ns, f"link set {near} up")
    for family in 4, 6:
        via = addr("pep" if ns == "sub" else "sv", family)
        wait_for("the way back", lambda via=via: run(
            "ip", "-n", ns, "route", "replace", "default", "via", via,
            check=False).returncode == 0)
        ip("pep", f"neigh flush dev {far}", family=family)


def ends(lefts):
    """The outcome of each connection at the remaining end, all awaited at
    once."""
    found = {}

    def await_end(state, sock):
        if state is gone_half_closed:
            found[state.__name__] = error_behind_end(sock)
        else:
            found[state.__name__] = outcome(sock, SECONDS)

    threads = [threading.Thread(target=await_end, args=item)
               for item in lefts.items()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def vanishes(family, opener, opened, gone, how):
    """With connections in every state at once."""
    lefts = {}
    gones = []
    queues = []
    with grows(flow_established=len(STATES), flow_closed=0,
               flow_reset=len(STATES)):
        for state in STATES:
            socks = split_pair(family, opener, opened)
            if gone != opener:
                socks = socks[::-1]
            queues += state(*socks)
            gones.append(socks[0])
            lefts[state] = socks[1]
        fill(queues)
        vanish(gone, how)
        try:
            got = ends(lefts)
        finally:
            pep.flows_end()
            come_back(gone, how)
    wanted = {state.__name__: "ECONNRESET" for state in STATES}
    wanted["gone_half_closed"] = "EPIPE"
    expect("the ends", got, wanted)
    exchange(pair(family, opener, opened), 1000)


for _how, _text in ("link", "its link goes down"), ("loss", "silence"):
    for _gone in "sub", "srv":
        families(f"{_gone} vanishes, {_text}", "sub", "srv", _gone,
                 _how)(vanishes)
families("sub vanishes, its link goes down, srv had opened", "srv", "sub",
         "sub", "link")(vanishes)


@families("its listeners are destroyed")
def listeners(family):
    """With ss -K: followed connections need none."""
    run("ss", "-K", "-ltH", ns="pep")
    with grows(flow_established=1, flow_closed=1):
        exchange(split_pair(family), 1000)
    pep.pepadm("profile", "set", "default", "mark", "0")


@families("its listeners are destroyed, early")
def listeners_early(family):
    """Connections are followed until there are new listeners."""
    pep.pepadm("profile", "set", "default", "connect", "early")
    try:
        run("ss", "-K", "-ltH", ns="pep")
        with grows(syn_answered=0, syn_pass_no_listener=1,
                   follow_new=1):
            exchange(pair(family), 1000)
        pep.pepadm("profile", "set", "default", "mark", "0")
        with grows(flow_established=1, syn_pass_no_listener=0):
            exchange(pair(family), 1000)
    finally:
        pep.pepadm("profile", "set", "default", "connect", "follow")
