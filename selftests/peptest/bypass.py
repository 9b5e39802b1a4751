# SPDX-License-Identifier: GPL-2.0
"""A direct link between the server and the subscriber, as of another gateway
to which routing can move the packets of each end:

   srv back0 ---------------------------------- sub back0
   198.18.2.2, 2001:db8:2::2                198.18.2.1, 2001:db8:2::1
"""

import contextlib

from . import pep
from .netns import addr, ip, sysctl
from .raw import link_address
from .tcp import exchange_part

LINK = ("srv", "back0"), ("sub", "back0")
OTHER = {"sub": "srv", "srv": "sub"}
NUMBER = {"sub": 1, "srv": 2}
BYTES = 100000          # of each end before its packets bypass the gateway
SECONDS = 30            # that an end of a split connection waits for payload
NET = {4: "198.18.2.", 6: "2001:db8:2::"}


def linked():
    """Add the link to the usual topology. IPv6 prefers a reachable router, so
    its ends are resolved."""
    ip(None, "link add back0 netns srv type veth peer name back0 netns sub")
    for ns, end in NUMBER.items():
        ip(ns, f"address add {NET[4]}{end}/24 dev back0",
           f"address add {NET[6]}{end}/64 dev back0 nodad",
           "link set back0 up")
        sysctl(ns, "net.ipv4.conf.all.rp_filter=0",
               "net.ipv4.conf.back0.rp_filter=0",
               "net.ipv4.conf.eth0.rp_filter=0")
    for ns, end in NUMBER.items():
        mac = link_address(ns, "back0").hex(":")
        for net in NET.values():
            ip(OTHER[ns], f"neigh replace {net}{end} lladdr {mac} dev back0")


@contextlib.contextmanager
def around(family, ns):
    """Within, an end's packets to the other one bypass the gateway."""
    to = addr(OTHER[ns], family) + ("/32" if family == 4 else "/128")
    route = f"{to} via {NET[family]}{NUMBER[OTHER[ns]]} dev back0"
    ip(ns, f"route add {route} src {addr(ns, family)}")
    try:
        yield
    finally:
        ip(ns, f"route del {route}")


def split(family):
    """Both ends of a split connection through which payload has gone. They
    wait for payload in recv(), not for ever."""
    both = pep.split_pair(family)
    exchange_part(both, BYTES)
    pep.quiet()
    for sock in both:
        sock.settimeout(SECONDS)
    return dict(zip(("sub", "srv"), both))
