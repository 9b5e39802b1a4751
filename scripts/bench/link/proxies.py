# SPDX-License-Identifier: GPL-2.0
"""The contestants on the gateway, and on the terminal, while tasks are done.

Each one is a function that returns a context manager. All of them leave the
connections of OTHER_PORTS and UDP alone.
"""

import contextlib
import resource

import contestants
from peptest import pep
from peptest.netns import ip, sysctl, tc
from transfer import OTHER_PORTS

FILES = 1 << 17         # descriptors that a process may have
SPARED = 50             # preference of rules and filters for these ports


def _spared_ports():
    """The first and the last port that contestants leave alone."""
    ports = OTHER_PORTS.values()
    return min(ports), max(ports)


@contextlib.contextmanager
def haproxy():
    """HAProxy, transparent, with splice. Debian 12's sets no congestion
    control by side, so both sides have that of the namespace."""
    first, last = _spared_ports()
    rules = [f"rule add pref {SPARED} ipproto {proto} lookup main"
             for proto in ("udp", f"tcp dport {first}-{last}",
                           f"tcp sport {first}-{last}")]
    for family in 4, 6:
        ip("pep", *rules, family=family)
    sysctl("pep", "net.ipv4.tcp_congestion_control=bbr")
    _raise_files()
    with contestants.haproxy():
        yield


def _raise_files():
    """HAProxy refuses to start with fewer descriptors than it may need."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (FILES, FILES))


def _spare(ns, dev):
    """Make packets of the other ports bypass pep's filters."""
    first, last = _spared_ports()
    tc(ns, *(f"filter add dev {dev} ingress pref {SPARED + number} "
             f"protocol {protocol} flower ip_proto tcp {end}_port "
             f"{first}-{last} action pass"
             for number, (protocol, end) in enumerate(
                 (protocol, end) for protocol in ("ip", "ipv6")
                 for end in ("src", "dst"))))


@contextlib.contextmanager
def _attached(*options, gateways=(("pep", "wl0", "sv0"),)):
    """pep in gateways: their namespaces and the devices of both sides. The
    last one has the options."""
    pep.load()
    if options:
        pep.pepadm("profile", "set", "default", *options, ns=gateways[-1][0])
    for ns, wireless, server in gateways:
        for dev, side in (wireless, "wireless"), (server, "server"):
            pep.pepadm("dev", "add", dev, "side", side, ns=ns)
            _spare(ns, dev)
    try:
        yield
    finally:
        for ns, *devices in gateways:
            for dev in devices:
                pep.pepadm("dev", "del", dev, ns=ns)
        pep.unload()


def pair(*options):
    """pep on both sides of the link, which is the wireless side of each; the
    one on the terminal has the options."""
    return _attached(*options, gateways=(("pep", "wl0", "sv0"),
                                         ("term", "up0", "lan0")))


PROXIES = {
    "cubic": contextlib.nullcontext,
    "bbr": contextlib.nullcontext,
    "haproxy": haproxy,
    "pep": _attached,
    "early": lambda: _attached("connect", "early"),
    "pair": pair,
    "pair-early": lambda: pair("connect", "early"),
}
