# SPDX-License-Identifier: GPL-2.0
"""Network namespaces, links between them, and programs run in them.

The usual topology; tests may create several, each with a suffix:

   sub (subscriber)          pep (gateway)              srv (server)
   198.18.0.2                198.18.0.1  198.18.1.1     198.18.1.2
   2001:db8:0::2             ..0::1          ..1::1     2001:db8:1::2
     eth0 ----------------- wl0                sv0 ----------- eth0
            wireless side                         server side
"""

import contextlib
import ctypes
import json
import os
import subprocess
import tempfile

from .env import PLUGINS
from .ktap import Failure, dumper

CLONE_NEWNET = 0x40000000
_libc = ctypes.CDLL(None, use_errno=True)

HOSTS = "sub", "pep", "srv"
# The devices (NS, DEV) that send on the gateway's link of each side.
WIRELESS = ("pep", "wl0"), ("sub", "eth0")
SERVER = ("pep", "sv0"), ("srv", "eth0")
ADDRESSES = {
    ("sub", 4): "198.18.0.2", ("sub", 6): "2001:db8::2",
    ("pep", 4): "198.18.0.1", ("pep", 6): "2001:db8::1",
    ("sv", 4): "198.18.1.1", ("sv", 6): "2001:db8:1::1",
    ("srv", 4): "198.18.1.2", ("srv", 6): "2001:db8:1::2",
}


def addr(name, family):
    """The address of a namespace; "sv" is the gateway's on the server side."""
    return ADDRESSES[name.rstrip("ABC"), family]


def _setns(fd):
    if _libc.setns(fd, CLONE_NEWNET):
        raise OSError(ctypes.get_errno(), "setns")


class Within:
    """Enter a namespace within; may be nested."""

    def __init__(self, name):
        self.name = name
        self.before = None

    def __enter__(self):
        self.before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        fd = os.open(f"/run/netns/{self.name}", os.O_RDONLY)
        try:
            _setns(fd)
        finally:
            os.close(fd)

    def __exit__(self, *_):
        _setns(self.before)
        os.close(self.before)


def run(*argv, ns=None, stdin="", check=True, seconds=60):
    """Run a program in a namespace to its end; return a CompletedProcess with
    both outputs as text. Fails when the exit code is not 0, unless check is
    false."""
    if ns:
        with Within(ns):
            return run(*argv, stdin=stdin, check=check, seconds=seconds)
    done = subprocess.run(argv, input=stdin, capture_output=True, text=True,
                          timeout=seconds, check=False)
    if check and done.returncode:
        raise Failure(f"{' '.join(map(str, argv))}: exit code "
                      f"{done.returncode}: {done.stderr.strip()} "
                      f"{done.stdout.strip()}")
    return done


def ip(ns, *lines, family=None):
    """Run lines of ip -batch in a namespace, None for the first one; rules
    and some routes need the family, 4 or 6."""
    where = ["-n", ns] if ns else []
    if family:
        where.append(f"-{family}")
    run("ip", *where, "-batch", "-", stdin="\n".join(lines) + "\n")


def tc(ns, *lines):
    """Run lines of tc -batch in a namespace, with pep's action."""
    run("env", f"TC_LIB_DIR={PLUGINS}", "tc", "-n", ns, "-batch", "-",
        stdin="\n".join(lines) + "\n")


def sysctl(ns, *settings):
    """Set NAME=VALUE in a namespace, None for the first one."""
    with Within(ns) if ns else contextlib.nullcontext():
        for setting in settings:
            name, value = setting.split("=")
            path = "/proc/sys/" + name.replace(".", "/")
            with open(path, "w", encoding="ascii") as file:
                file.write(value)


def sysctl_get(ns, name):
    """Read a setting of a namespace."""
    with Within(ns), open("/proc/sys/" + name.replace(".", "/"),
                          encoding="ascii") as file:
        return file.read().strip()


@contextlib.contextmanager
def sysctls(ns, *settings):
    """Set NAME=VALUE in a namespace within."""
    names = [setting.split("=")[0] for setting in settings]
    before = [f"{name}={sysctl_get(ns, name)}" for name in names]
    sysctl(ns, *settings)
    try:
        yield
    finally:
        sysctl(ns, *before)


def near_only(ns, family):
    """Within, a host sends with a TTL of 255 by eth0, RFC 5082."""
    name = ("net.ipv4.ip_default_ttl" if family == 4 else
            "net.ipv6.conf.eth0.hop_limit")
    return sysctls(ns, f"{name}=255")


def space_up(ns, *links):
    """Give a namespace its devices' addresses: (DEV, ADDR4, ADDR6)...

    Their link-local addresses are valid at once: a router solicits no
    neighbour for forwarded packets while its own address is tentative, and
    with the second that a device takes to come up that may last longer than a
    packet waits."""
    with Within(ns):
        for dev, _, _ in links:
            with open(f"/proc/sys/net/ipv6/conf/{dev}/accept_dad", "w",
                      encoding="ascii") as file:
                file.write("0")
    lines = ["link set lo up"]
    for dev, addr4, addr6 in links:
        lines += [f"address add {addr4}/24 dev {dev}",
                  f"address add {addr6}/64 dev {dev} nodad",
                  f"link set {dev} up"]
    ip(ns, *lines)


def topology_up(x=""):
    """Create the usual topology, with a suffix an additional one."""
    ip(None, f"netns add sub{x}", f"netns add pep{x}", f"netns add srv{x}",
       f"link add eth0 netns sub{x} type veth peer name wl0 netns pep{x}",
       f"link add sv0 netns pep{x} type veth peer name eth0 netns srv{x}")
    space_up(f"sub{x}", ("eth0", "198.18.0.2", "2001:db8::2"))
    space_up(f"pep{x}", ("wl0", "198.18.0.1", "2001:db8::1"),
             ("sv0", "198.18.1.1", "2001:db8:1::1"))
    space_up(f"srv{x}", ("eth0", "198.18.1.2", "2001:db8:1::2"))
    ip(f"sub{x}", "route add default via 198.18.0.1",
       "route add default via 2001:db8::1")
    ip(f"srv{x}", "route add default via 198.18.1.1",
       "route add default via 2001:db8:1::1")
    sysctl(f"pep{x}", "net.ipv4.ip_forward=1",
           "net.ipv6.conf.all.forwarding=1")


def spaces():
    """The names of all namespaces."""
    try:
        return sorted(os.listdir("/run/netns"))
    except FileNotFoundError:
        return []


def spaces_down(*names):
    """Delete namespaces, by default all; open sockets keep them alive."""
    names = names or spaces()
    if names:
        ip(None, *(f"netns del {name}" for name in names))


def offloads(ns, dev, *settings):
    """ethtool -K DEV SETTING..."""
    run("ethtool", "-K", dev, *settings, ns=ns)


def single_packets(ns, *devs):
    """Make devices carry single packets as a radio does, so that netem, which
    treats a burst as one packet, selects among them. With all offloads off
    TCP still builds bursts (sk_setup_caps() does not check the device),
    unless they are limited to one segment."""
    for dev in devs:
        offloads(ns, dev, "tso", "off", "gso", "off", "gro", "off")
        ip(ns, f"link set {dev} gso_max_segs 1")


@contextlib.contextmanager
def contiguous(*hosts):
    """Within, packets that hosts send have no page fragments."""
    for ns in hosts:
        offloads(ns, "eth0", "sg", "off")
    try:
        yield
    finally:
        for ns in hosts:
            offloads(ns, "eth0", "sg", "on", "tso", "on", "gso", "on")


def mount(source, path, kind, options=""):
    """mount(2), for file systems that belong to the present namespace."""
    if _libc.mount(source.encode(), path.encode(), kind.encode(), 0,
                   options.encode()):
        raise OSError(ctypes.get_errno(), f"mounting {kind}")


def umount(path):
    """umount(2)."""
    if _libc.umount2(path.encode(), 0):
        raise OSError(ctypes.get_errno(), f"umount of {path}")


def rps(ns, masks):
    """Set the CPUs that process packets received on devices."""
    with Within(ns), tempfile.TemporaryDirectory() as path:
        mount("sysfs", path, "sysfs")
        try:
            for dev, mask in masks.items():
                name = f"{path}/class/net/{dev}/queues/rx-0/rps_cpus"
                with open(name, "w", encoding="ascii") as file:
                    file.write(f"{mask:x}")
        finally:
            umount(path)


def netem(ns, dev, *args):
    """Impair the packets that a device sends; "off" ends it."""
    if args == ("off",):
        tc(ns, f"qdisc del dev {dev} root")
    else:
        run("modprobe", "-q", "sch_netem", check=False)
        tc(ns, f"qdisc replace dev {dev} root netem " + " ".join(args))


def netem_drops(ns, dev):
    """Number of packets that the netem of a device has dropped."""
    shown = run("tc", "-n", ns, "-s", "-j", "qdisc", "show", "dev", dev)
    return sum(qdisc["drops"] for qdisc in json.loads(shown.stdout)
               if qdisc["kind"] == "netem")


def netem_end(ns, dev):
    """End the impairment if there is any."""
    run("tc", "-n", ns, "qdisc", "del", "dev", dev, "root", check=False)


@contextlib.contextmanager
def impaired(devices, *args, single=False):
    """Within, impair the packets that devices (NS, DEV) send; with single, as
    packets that are no longer than the link's."""
    try:
        for ns, dev in devices:
            if single:
                single_packets(ns, dev)
            netem(ns, dev, *args)
        yield
    finally:
        for ns, dev in devices:
            netem_end(ns, dev)


def delayed(delay="5ms"):
    """Within, delay both ends' packets: a round trip that can be measured,
    even where the clock stands still while the kernel computes."""
    return impaired((("sub", "eth0"), ("srv", "eth0")), "delay", delay)


def link_packets(ns):
    """Numbers of packets (received, sent) by the devices of a namespace, by
    device name."""
    shown = json.loads(run("ip", "-n", ns, "-j", "-s", "link").stdout)
    return {link["ifname"]: (link["stats64"]["rx"]["packets"],
                             link["stats64"]["tx"]["packets"])
            for link in shown}


def nstat(ns, *names):
    """The sum of counters of a namespace, like TcpExtTCPTimeouts or
    Udp6NoPorts, from the kernel's SNMP files in /proc/net."""
    found = {}
    with Within(ns):
        for path in "snmp", "netstat":
            with open(f"/proc/thread-self/net/{path}", encoding="ascii") as f:
                lines = f.read().splitlines()
            for head, row in zip(lines[::2], lines[1::2]):
                prefix = head.split(":")[0]
                for key, value in zip(head.split()[1:], row.split()[1:]):
                    found[prefix + key] = int(value)
        with open("/proc/thread-self/net/snmp6", encoding="ascii") as file:
            for line in file:
                key, value = line.split()
                found[key] = int(value)
    return sum(found[name] for name in names)


def resets(*hosts):
    """Number of resets that hosts have sent, by host name; by default all
    hosts of the usual topology."""
    return {ns: nstat(ns, "TcpOutRsts") for ns in hosts or HOSTS}


def paws(*hosts):
    """Number of segments that hosts have dropped because of timestamps, by
    host name; by default both ends of the usual topology."""
    return {ns: nstat(ns, "TcpExtPAWSActive", "TcpExtPAWSEstab")
            for ns in hosts or ("sub", "srv")}


@dumper
def _dump_spaces():
    for ns in spaces():
        for argv in (["ss", "-tanipmoO"], ["nstat", "-as", "--noupdate"]):
            yield f"--- {ns}: {' '.join(argv)}"
            lines = run(*argv, ns=ns, check=False).stdout.splitlines()
            if argv[0] == "nstat":
                lines = [line for line in lines if line.startswith(
                    ("Tcp", "Ip", "Icmp", "Udp"))]
            yield from lines[:60]
