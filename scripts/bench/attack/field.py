# SPDX-License-Identifier: GPL-2.0
"""The network of the attacks, in a guest.

   sub ----- s0 radio n0 ----- wl0
   eth0   20 Mbit/s, 40 ms         pep  sv0 ------ srv
   atk ----- s1 radio n1 ----- wl1      eth0
   eth0   50 Mbit/s, 40 ms

radio is a host of its own: no qdisc notifies an end of a packet that it drops.
Honest subscribers are behind wl0. The attacker has a device of its own,
because on a shared link a flood takes from them with or without pep.
"""

from peptest.netns import addr, ip, netem, single_packets, space_up, sysctl, tc

HERE = {4: "198.18.3.2", 6: "2001:db8:3::2"}            # the attacker
# Addresses behind the attacker: unused ones, and its own.
SPOOFED = {4: "198.19.{}.{}", 6: "2001:db8:19:{}::{}"}
OWN = {4: "198.19.{}.{}", 6: "2001:db8:1a:{}::{}"}
# Addresses behind the server: unused ones, and those without a route.
SILENT = {4: "198.18.2.{}", 6: "2001:db8:2::{}"}
AWAY = {4: "198.18.4.{}", 6: "2001:db8:4::{}"}
RATE = "20mbit"
DELAY = "20ms"          # each way
QUEUE = "200"           # packets
FAST = "50mbit"         # to the attacker
# Pages that TCP may have: one kernel holds the sockets of all four hosts.
TCP_MEM = "200000 250000 300000"
DEVICES = {"wl0": "wireless", "wl1": "wireless", "sv0": "server"}


def field_up(link=True):
    """Make the network, by default with the wireless link."""
    ip(None, *(f"netns add {name}" for name in (
        "sub", "atk", "radio", "pep", "srv")),
       "link add eth0 netns sub type veth peer name s0 netns radio",
       "link add n0 netns radio type veth peer name wl0 netns pep",
       "link add eth0 netns atk type veth peer name s1 netns radio",
       "link add n1 netns radio type veth peer name wl1 netns pep",
       "link add sv0 netns pep type veth peer name eth0 netns srv")
    for ns, dev in (("sub", "eth0"), ("atk", "eth0"), ("pep", "wl0"),
                    ("pep", "wl1")):
        single_packets(ns, dev)
    space_up("sub", ("eth0", addr("sub", 4), addr("sub", 6)))
    space_up("atk", ("eth0", HERE[4], HERE[6]))
    space_up("srv", ("eth0", addr("srv", 4), addr("srv", 6)))
    space_up("pep", ("wl0", addr("pep", 4), addr("pep", 6)),
             ("wl1", "198.18.3.1", "2001:db8:3::1"),
             ("sv0", addr("sv", 4), addr("sv", 6)))
    for ns, gate4, gate6 in (("sub", addr("pep", 4), addr("pep", 6)),
                             ("atk", "198.18.3.1", "2001:db8:3::1"),
                             ("srv", addr("sv", 4), addr("sv", 6))):
        ip(ns, f"route add default via {gate4}",
           f"route add default via {gate6}")
    sysctl("pep", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    ip("pep", f"route add 198.19.0.0/16 via {HERE[4]}",
       f"route add 2001:db8:19::/48 via {HERE[6]}",
       f"route add 2001:db8:1a::/48 via {HERE[6]}",
       f"route add 198.18.2.0/24 via {addr('srv', 4)}",
       f"route add 2001:db8:2::/64 via {addr('srv', 6)}",
       "route add unreachable 198.18.4.0/24",
       "route add unreachable 2001:db8:4::/64")
    ip("atk", "route add blackhole 198.19.0.0/17",
       "route add blackhole 2001:db8:19::/48",
       "route add local 198.19.128.0/17 dev lo",
       "route add local 2001:db8:1a::/48 dev lo")
    sysctl("atk", "net.ipv6.ip_nonlocal_bind=1")
    sysctl(None, f"net.ipv4.tcp_mem={TCP_MEM}")
    sysctl("srv", "net.core.somaxconn=16384",
           "net.ipv4.tcp_max_syn_backlog=16384")
    for number, rate in enumerate((RATE, FAST)):
        _radio(f"s{number}", f"n{number}", rate, link)


def _radio(end, gate, rate, link):
    """Redirect packets that one device of the radio receives to the other,
    the ones to the end at a rate when there is a link."""
    ip("radio", f"link set {end} up", f"link set {gate} up")
    for dev, out in (end, gate), (gate, end):
        tc("radio", f"qdisc add dev {dev} clsact",
           f"filter add dev {dev} ingress protocol all matchall "
           f"action mirred egress redirect dev {out}")
    if link:
        netem("radio", end, "rate", rate, "delay", DELAY, "limit", QUEUE)
        netem("radio", gate, "delay", DELAY, "limit", "100000")
