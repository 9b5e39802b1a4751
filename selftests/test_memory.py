# SPDX-License-Identifier: GPL-2.0
"""Lack of memory: connections are forwarded and not split, or not even
followed, with the reason counted, split ones go on, nothing is lost, and
everything works as before afterwards. Only the debug kernels can refuse memory
on demand (failslab)."""

import contextlib
import errno
import json
import select

from peptest import debugfs, pep, sites
from peptest.env import DEBUG, amount
from peptest.ktap import case, expect, expect_least, families, skip, wait_for
from peptest.netns import addr
from peptest.pep import grows, least
from peptest.tcp import (Load, accept, client, exchange, exchange_all,
                         exchange_part, listen, pair)

PACKETS = "skbuff_head_cache", "skbuff_fclone_cache", "skbuff_small_head"
BYTES = amount(1000000)
MOST = 1 << 30          # failures
MANY = 200              # more than the number of ready sockets
setup = pep.warmed


def refusable(cache, yes):
    """Set whether allocations from a slab cache may be made to fail."""
    with open(f"/sys/kernel/slab/{cache}/failslab", "w",
              encoding="ascii") as file:
        file.write("1" if yes else "0")


@contextlib.contextmanager
def refused(percent, *caches):
    """Within, a percentage of the allocations from slab caches fails; yields a
    function that returns the number of failures so far."""
    for name, value in (("times", MOST), ("interval", 1), ("verbose", 0),
                        ("ignore-gfp-wait", "N"), ("cache-filter", "Y")):
        debugfs.write("failslab/" + name, value)
    for cache in caches:
        refusable(cache, True)
    debugfs.write("failslab/probability", percent)
    try:
        yield lambda: MOST - int(debugfs.read("failslab/times"))
    finally:
        debugfs.write("failslab/probability", 0)
        for cache in caches:
            refusable(cache, False)


def needs_failslab():
    if not DEBUG:
        skip("only the debug kernels have failslab")


def split_afterwards(family):
    """Connections are split as before."""
    with grows(split_handshake=1, flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family), BYTES)


@families("no memory for flows")
def no_flows(family):
    needs_failslab()
    with grows(follow_established=1, split_pass_no_memory=1,
               flow_established=0, delivered=0, pass_followed=least(5)):
        with refused(100, "pep_flow"):
            exchange(pair(family), BYTES)
    split_afterwards(family)


@families("no memory for flows that are answered early")
def no_early_flows(family):
    needs_failslab()
    pep.early()
    try:
        with grows(syn_pass_no_memory=1, follow_established=1,
                   split_pass_no_memory=1, flow_established=0, delivered=0):
            with refused(100, "pep_flow"):
                exchange(pair(family), BYTES)
    finally:
        pep.pepadm("profile", "set", "default", "connect", "follow")
    split_afterwards(family)


@case("no memory to route a SYN that would be answered early")
def no_clone():
    """The connection is followed, and split by its handshake."""
    if not sites.faults_possible():
        skip("only the debug kernels have faults")
    site, = [each for each in sites.sites(sites.listing())
             if each.function.startswith("pep_source_")]
    pep.early()
    try:
        with grows(syn_pass_no_memory=1, syn_pass_source=0, syn_answered=0,
                   split_handshake=1, flow_closed=1):
            sites.arm(site, 1)
            both = pep.split_pair(4)
            expect("failures", sites.failed(1), 1)
            exchange(both, BYTES)
    finally:
        sites.disarm()
        pep.pepadm("profile", "set", "default", "connect", "follow")


@families("no memory for copies of a connection that was handed back as idle")
def no_copies_again(family):
    """It stays unsplit, and counts."""
    if not sites.faults_possible():
        skip("only the debug kernels have faults")
    site, = [each for each in sites.sites(sites.listing())
             if each.function == "pep_copies_new"]
    pep.pepadm("profile", "set", "default", "release-idle", "2")
    pep.ready()
    try:
        both = pep.split_pair(family, size=100)
        pep.wait_flows(0)
        with grows(ended=False, split_pass_no_memory=1, split_handshake=0):
            sites.arm(site, 1)
            exchange_part(both, BYTES)
            expect("failures", sites.failed(1), 1)
    finally:
        sites.disarm()
        pep.pepadm("profile", "set", "default", "release-idle", "120")
    exchange(both, 100)
    split_afterwards(family)


@families("no memory to follow connections")
def no_connections(family):
    needs_failslab()
    with grows(follow_no_memory=1, follow_new=0, flow_established=0,
               delivered=0, pass_no_flow=least(5)):
        with refused(100, "pep_conn"):
            exchange(pair(family), BYTES)
    split_afterwards(family)


@families("connections that there is no memory to follow cost no token")
def no_token(family):
    """Of a subscriber who may open one a second, and two at once."""
    needs_failslab()
    rate = json.loads(pep.pepadm("-j", "limit", "show").stdout)[
        "subscriber_rate"]
    pep.pepadm("limit", "set", "subscriber-rate", "1")
    try:
        with grows(follow_no_memory=6, follow_rate=0):
            with refused(100, "pep_conn"):
                for _ in range(6):
                    exchange(pair(family), 100)
    finally:
        pep.pepadm("limit", "set", "subscriber-rate", str(rate))
    split_afterwards(family)


@families("no memory for sockets")
def no_sockets(family):
    """The ready ones serve the first connections, the others stay unsplit. The
    server's program has no sockets either and accepts later."""
    needs_failslab()
    listener = listen("srv", family)
    near = [client("sub", family) for _ in range(MANY)]
    poll = select.poll()
    with grows(follow_established=MANY, dropped=0, flow_reset=0,
               split_pass_no_memory=least(MANY // 4)) as before:
        with refused(100, "sock_inode_cache") as failures:
            for sock in near:
                sock.setblocking(False)
                sock.connect_ex((addr("srv", family), 5000))
                poll.register(sock, select.POLLOUT)
            wait_for("connections without a socket to spare",
                     lambda: len(poll.poll(0)) == MANY, 20)
            wait_for("sockets that cannot be made", failures)
            # Up to eight each: the pool makes as many kinds of sockets.
            tried = failures()
            wait_for("further attempts, which no packet asks for",
                     lambda: failures() > tried + 64)
        for sock in near:
            sock.settimeout(60)
            if not select.select([], [sock], [], 60)[1]:
                expect("a connection", "late", "in time")
            expect("the error", sock.getsockopt(1, 4), 0)
        far = {}
        for _ in near:
            sock = accept(listener)
            far[sock.getpeername()[1]] = sock
        exchange_all([(sock, far[sock.getsockname()[1]]) for sock in near],
                     1000)
    expect_least("flows", pep.stat("flow_established") -
                 before["flow_established"], 1)

    def split():
        exchange(pair(family), 1)
        return pep.stat("flow_established") > established
    established = pep.stat("flow_established")
    wait_for("sockets to spare", split)


def opened(family, count):
    """Connections whose opener may lack memory for its own SYN."""
    for _ in range(count):
        try:
            yield pair(family)
        except OSError as err:
            expect("the error", errno.errorcode.get(err.errno, str(err)),
                   "ENOBUFS")


@families("memory for every tenth packet fails")
def no_packets(family):
    """On existing connections, and on others, opened while fewer allocations
    fail; most of these pass unsplit: TCP treats the failures as memory
    pressure."""
    needs_failslab()
    with grows(flow_established=least(2), flow_reset=0):
        both = [pep.split_pair(family), pep.split_pair(family, "srv", "sub")]
        with refused(10, *PACKETS):
            for each in both:
                exchange_part(each, BYTES // 4)
        # A handshake has ten packets, and each failure doubles its time.
        with refused(2, *PACKETS):
            more = list(opened(family, 10))
        with refused(10, *PACKETS):
            for each in more:
                exchange_part(each, 2000)
        for each in both + more:
            exchange(each, 2000)


@families("handed back while memory for every tenth packet fails")
def released(family):
    needs_failslab()
    both = [pep.split_pair(family), pep.split_pair(family, "srv", "sub")]
    with grows(flow_released=2, flow_reset=0, flow_killed=0):
        load = Load(both, BYTES // 10)
        with refused(10, *PACKETS):
            # The request needs memory, too.
            wait_for("the request", lambda: pep.pepadm(
                "flow", "release", "all", check=False).returncode == 0)
            load.more(BYTES // 10)
        pep.wait_flows(0)
        load.finish()
        load.expect_whole()


@families("no memory to import a connection")
def imported(family):
    """Each line is refused; later it is accepted."""
    needs_failslab()
    both = pair(family)
    exchange_part(both, 1000)
    lines = pep.pepadm("flow", "save", "-").stdout
    pep.detach()
    pep.unload()
    pep.load()
    pep.attach()
    count = lines.split()[-1]
    with refused(100, "pep_conn"):
        done = pep.pepadm("flow", "restore", "-", stdin=lines, check=False)
    expect("exit code", done.returncode, 1)
    expect("message", "Cannot allocate memory" in done.stderr, True)
    expect("refused", done.stdout,
           f"restored 0 known 0 expired 0 refused {count}\n")
    expect("restored", pep.pepadm("flow", "restore", "-", stdin=lines).stdout,
           f"restored {count} known 0 expired 0 refused 0\n")
    exchange(both, BYTES)
