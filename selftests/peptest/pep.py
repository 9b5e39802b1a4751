# SPDX-License-Identifier: GPL-2.0
"""The module: loading, attaching, counters and flows."""

import contextlib
import errno
import json
import os
import re

from . import env, genl, settings, tcp
from .ktap import (Failure, dumper, expect, expect_least, must,
                   steady, wait_for)
from .netns import (addr, netem, run, spaces, spaces_down, sysctls,
                    topology_up)

STATS = genl.names("PEP_A_STAT_")
CMD_STAT_GET = next(number for number, name in
                    genl.names("PEP_CMD_").items() if name == "stat_get")


def default_limits():
    """The default limits, from the guest's memory: a flow for each 64 KiB of
    it within bounds, a connection for each 256 bytes of a sixteenth of it,
    and a 64th of each, and of a sixteenth of memory, for a subscriber."""
    with open("/proc/meminfo", encoding="ascii") as file:
        memory = int(file.readline().split()[1]) * 1024
    all_flows = min(max(memory // 65536, 4096), 262144)
    room = memory // 16 // 256
    return {"flows": all_flows, "pending": 4096, "connections": room,
            "prefix4": 32, "prefix6": 64,
            "subscriber-connections": max(room // 64, 256),
            "subscriber-flows": max(all_flows // 64, 256),
            "subscriber-rate": 1000,
            "subscriber-memory": min(max(memory // 16 // 64, 1 << 24),
                                     (1 << 32) - 1)}


# Output of "conf save" when the usual devices are attached and nothing else
# has been changed.
PLAIN = f"""\
profile default {settings.line()}
limit {" ".join(f"{key} {most}" for key, most in default_limits().items())}
dev wl0 side wireless profile default
dev sv0 side server profile default
"""
_family = None


def load(control=True):
    """Load the module, by default with its congestion control. insmod resolves
    no dependencies: load those of modprobe pep first; the small kernels have
    them built in."""
    global _family      # pylint: disable=global-statement
    if env.WITHOUT:
        return
    run("modprobe", "-qa", "tcp_bbr", "tcp_cubic", "sch_ingress",
        "cls_matchall", "nf_defrag_ipv6", check=False)
    if control and not os.path.isdir("/sys/module/pep_bbr"):
        run("insmod", env.BBR_KO)
    run("insmod", env.KO)
    _family = None


def loaded():
    """Is the module loaded?"""
    return os.path.isdir("/sys/module/pep")


def unload():
    """Unload the module, which must not be attached; nothing may be left of
    it. Filters put the module a little after their deletion."""
    wait_for("the last user of the module", lambda: users() == 0)
    run("rmmod", "pep")
    gone()


def users():
    """The module's reference count."""
    with open("/sys/module/pep/refcnt", encoding="ascii") as file:
        return int(file.read())


def gone():
    """Fail if anything of the module is left."""
    if loaded():
        raise Failure("the module is still loaded")
    with open("/proc/slabinfo", encoding="ascii") as file:
        left = [line for line in file if line.startswith("pep_")]
    expect("caches of the module", left, [])


def pepadm(*words, ns="pep", check=True, stdin=""):
    """Run pepadm; return a CompletedProcess."""
    return run(env.PEPADM, *words, ns=ns, check=check, stdin=stdin)


def attach(ns="pep", *options):
    """Attach to both devices of a gateway."""
    if env.WITHOUT:
        return
    pepadm("dev", "add", "wl0", "side", "wireless", *options, ns=ns)
    pepadm("dev", "add", "sv0", "side", "server", *options, ns=ns)


def detach(ns="pep"):
    """Detach from both devices."""
    if env.WITHOUT:
        return
    pepadm("dev", "del", "wl0", ns=ns)
    pepadm("dev", "del", "sv0", ns=ns)


def devices(ns="pep"):
    """Names of the devices that pep is attached to."""
    if env.WITHOUT or ns not in spaces():
        return []
    return [dev["dev"] for dev in
            json.loads(pepadm("-j", "dev", "show", ns=ns).stdout)]


def attached(split="handshake"):
    """Set up: the usual topology with pep attached. Connections are split as
    soon as they are up, unless the test needs others."""
    load()
    topology_up()
    if not env.WITHOUT:
        pepadm("profile", "set", "default", "split", split)
    attach()


def follow(split, ns="pep"):
    """Follow connections from now on, and split them by these triggers; when
    the devices are attached sockets are ready for the first ones."""
    if env.WITHOUT:
        return
    pepadm("profile", "set", "default", "connect", "follow", "split", split,
           ns=ns)
    if split != "never" and devices(ns):
        ready(ns)


def ready(ns="pep"):
    """Prepare sockets for the first connections that are split."""
    if env.WITHOUT:
        return
    for family in 4, 6:
        before = stat("pool_refill", ns)
        tcp.exchange(tcp.pair(family), 1)
        wait_for("sockets", lambda: stat("pool_refill", ns) > before)
    flows_end(ns=ns)


def early():
    """Answer connections from now on before their targets do."""
    pepadm("profile", "set", "default", "connect", "early")


def split_pair(family, *args, ns="pep", size=0, **kwargs):
    """Both ends of a new connection that a gateway has split by now; before
    the split each end has sent size bytes."""
    before = stat("flow_established", ns)
    both = tcp.pair(family, *args, **kwargs)
    if size:
        tcp.exchange_part(both, size)
    wait_for("a flow", lambda: stat("flow_established", ns) > before)
    return both


def kept_pair(family, counter, *args, ns="pep", **kwargs):
    """Both ends of a new connection which is not split, for the reason that a
    counter counts."""
    before = stat(counter, ns)
    both = tcp.pair(family, *args, **kwargs)
    wait_for(counter, lambda: stat(counter, ns) > before)
    return both


def spoken_for_pair(family):
    """Both ends of a new connection which is not split because a transparent
    proxy on the gateway is sending a SYN with the same addresses and ports.
    With early demux the kernel would not forward packets that match the
    proxy's socket."""
    bind = addr("sub", family), 34569
    to = addr("srv", family), tcp.PORT
    proxy = tcp.client("pep", family, bind=bind, transparent=True)
    proxy.setblocking(False)
    netem("pep", "sv0", "loss", "100%")
    err = proxy.connect_ex(to)
    netem("pep", "sv0", "off")
    must("the proxy's call", errno.errorcode[err], "EINPROGRESS")
    with sysctls("pep", "net.ipv4.tcp_early_demux=0"):
        both = kept_pair(family, "split_pass_in_use", bind=bind)
        proxy.close()
        return both


def split_start(family, count, *args, ns="pep", **kwargs):
    """Both ends of connections that are opened at once, all split by now."""
    before = stat("flow_established", ns)
    pairs = tcp.start(family, count, *args, **kwargs)
    wait_for(f"{count} flows",
             lambda: stat("flow_established", ns) >= before + count)
    return pairs


def warmed():
    """Set up: attached, with the gateway's neighbours resolved: a SYN that
    passes while IPv6 cannot solicit yet is sent twice. Sockets for the first
    connections are ready, too."""
    attached()
    ready()
    tcp.close_all()


def detached():
    """Set up: the usual topology, pep only loaded."""
    load()
    topology_up()


def teardown():
    """Take everything down and check that nothing is left."""
    tcp.close_all()
    if loaded():
        for ns in spaces():
            if not ns.startswith("pep"):
                continue
            for dev in devices(ns):
                pepadm("dev", "del", dev, ns=ns)
        unload()
    spaces_down()


def stats(ns="pep"):
    """All counters of a gateway by name."""
    global _family      # pylint: disable=global-statement
    if _family is None:
        _family = genl.family_id(ns, "pep")
    if _family is None:
        return dict.fromkeys(STATS.values(), 0)
    answer, = genl.request(ns, _family, CMD_STAT_GET)
    return {STATS[kind]: int.from_bytes(data, "little")
            for kind, data in genl.attrs(answer)}


def stat(name, ns="pep"):
    """One counter."""
    return stats(ns)[name]


def wait_flows(count, seconds=40, ns="pep"):
    """Wait until the number of flows is count."""
    wait_for(f"{count} flows", lambda: stat("flows", ns) == count, seconds)


def flows_end(seconds=40, ns="pep"):
    """Wait until no flow is left."""
    wait_flows(0, seconds, ns)


def quiet(seconds=0.25, ns="pep"):
    """Wait until no packet of a flow has arrived for some time, longer than an
    end delays an ACK."""
    steady("flows", lambda: stat("delivered", ns), seconds)


def released(*words, ns="pep"):
    """Hand back the flows that the words select, by default all; return the
    number of flows that are being released."""
    text = pepadm("flow", "release", *(words or ("all",)), ns=ns).stdout
    word, count = text.split()[:2]
    expect("answer", word, "released")
    return int(count)


def order(command, ns="pep"):
    """A quick function that requests "flow_kill" or "flow_release" for all
    flows once, which pepadm does after it has been started, and repeats."""
    def number(prefix, wanted):
        return next(number for number, name in genl.names(prefix).items()
                    if name == wanted)
    command = number("PEP_CMD_", command)
    words = genl.attr(number("PEP_A_FLOW_", "older_ms"), bytes(8))
    family = genl.family_id(ns, "pep")
    return lambda: genl.request(ns, family, command, words)


def hand_back(ns="pep"):
    """Hand all flows back; payload out of order may delay it."""
    wait_for("flows to be released",
             lambda: released(ns=ns) == 0 and stat("flows", ns) == 0)


def least(number):
    """For grows(): at least this number."""
    return range(number, 1 << 62)


@contextlib.contextmanager
def grows(ns="pep", ended=True, **wanted):
    """Fail unless counters grow by these numbers within; read after all flows
    have ended, unless ended is false."""
    before = stats(ns)
    yield before
    if ended:
        flows_end(ns=ns)
    after = stats(ns)
    for name, number in wanted.items():
        grown = after[name] - before[name]
        if isinstance(number, range):
            expect_least(f"growth of {name}", grown, number.start)
        else:
            expect(f"growth of {name}", grown, number)


@contextlib.contextmanager
def pressure(pages="1 1 1000000"):
    """Within, TCP is short of memory by tcp_mem, which is common to all
    namespaces: for good, or as long as it uses more than pages say."""
    path = "/proc/sys/net/ipv4/tcp_mem"
    with open(path, encoding="ascii") as file:
        before = file.read()
    with open(path, "w", encoding="ascii") as file:
        file.write(pages)
    try:
        yield
    finally:
        with open(path, "w", encoding="ascii") as file:
            file.write(before)


def flows(ns="pep"):
    """All flows from pepadm's JSON output."""
    return json.loads(pepadm("-j", "flow", "show", ns=ns).stdout)


def legs():
    """The legs of the gateway's only flow by side, as ss prints them."""
    out = run("ss", "-HOtnmio", "state", "established", ns="pep").stdout
    flow, = flows()
    port = str(flow["subscriber"]["port"])
    found = {}
    for line in out.splitlines():
        words = line.split()
        near, far = (word.rsplit(":", 1)[1] for word in words[2:4])
        if port in (near, far):
            found["wireless" if far == port else "server"] = line
    expect("legs", sorted(found), ["server", "wireless"])
    return found


def number(line, pattern):
    """A number from a line of ss."""
    found = re.search(pattern, line)
    if not found:
        raise Failure(f"no {pattern} in {line}")
    return int(found.group(1))


@dumper
def _dump_pep():
    for ns in spaces():
        if not ns.startswith("pep") or not loaded():
            continue
        yield f"--- {ns}: pepadm stat show"
        for name, value in stats(ns).items():
            if value:
                yield f"{name} {value}"
        yield f"--- {ns}: pepadm flow show"
        yield from pepadm("-sd", "flow", "show", ns=ns,
                          check=False).stdout.splitlines()[:40]
