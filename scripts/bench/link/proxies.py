# SPDX-License-Identifier: GPL-2.0
"""What stands on the gateway, and on the terminal, while tasks are done.

Each contestant is a function of the link's family that returns a context
manager. The connections of OTHER_PORTS and UDP are left alone by all of them.
"""

import contextlib

from contestants import PORTS, daemon
from peptest import pep, service
from peptest.netns import ip, sysctl, tc
from transfer import OTHER_PORTS

HAPROXY = """
global
    nbthread 1
    maxconn 2000
defaults
    mode tcp
    timeout connect 60s
    timeout client 600s
    timeout server 600s
    option splice-request
    option splice-response
frontend all
    bind 0.0.0.0:{first}-{last} transparent
    bind :::{first}-{last} transparent v6only
    default_backend origin
backend origin
    option transparent
    source 0.0.0.0 usesrc client
"""
SPARED = 50             # preference of rules and filters that spare


def _spared_ports():
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
    conf = service.write("haproxy.cfg", HAPROXY.format(
        first=PORTS[0], last=PORTS[-1]))
    with daemon("haproxy", "haproxy", "-db", "-f", conf):
        yield


def _spare(ns, dev):
    """Have packets of the other ports pass pep's filters."""
    first, last = _spared_ports()
    tc(ns, *(f"filter add dev {dev} ingress pref {SPARED + number} "
             f"protocol {protocol} flower ip_proto tcp {end}_port "
             f"{first}-{last} action pass"
             for number, (protocol, end) in enumerate(
                 (protocol, end) for protocol in ("ip", "ipv6")
                 for end in ("src", "dst"))))


@contextlib.contextmanager
def _attached(*options, gateways=(("pep", "wl0", "sv0"),)):
    """pep in gateways: their namespaces and the devices of both sides."""
    pep.load()
    for ns, wireless, server in gateways:
        if options:
            pep.pepadm("profile", "set", "default", *options, ns=ns)
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


def pair():
    """pep on both sides of the link, each with it as its wireless side."""
    return _attached(gateways=(("pep", "wl0", "sv0"), ("term", "up0", "lan0")))


PROXIES = {
    "cubic": contextlib.nullcontext,
    "bbr": contextlib.nullcontext,
    "haproxy": haproxy,
    "pep": _attached,
    "early": lambda: _attached("connect", "early"),
    "pair": pair,
}
