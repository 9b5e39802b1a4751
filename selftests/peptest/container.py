# SPDX-License-Identifier: GPL-2.0
"""The operator's container: the machine has one port with a VLAN per side, and
pep is in a namespace of its own with a device per side. tc on the machine
pops and pushes the VLAN tag; the machine has no bridge, no address and no
route.

   sub ---- rt ---- srv        rt    router of the operator
             |                 box   the machine
           trunk               pep   namespace with pep
             | VLAN 10, 20
   box     port
          /    \\     ingress of port:   VLAN 10 off, to cv; VLAN 20 off, to sv
        cv      sv    ingress of cv, sv: VLAN 10, 20 on, to port
        |        |
   pep wl0      sv0   default route by wl0; the server legs go by sv0

Packets of subscribers arrive on VLAN 10, those of servers on VLAN 20, and pep
sends each to the router on the VLAN of its destination.
"""

from .netns import addr, ip, run, space_up, sysctl, tc

VLANS = ("c", "cv", "wl0", 10), ("s", "sv", "sv0", 20)


def _links():
    """Devices, and the addresses of the ends."""
    ip(None, *(f"netns add {ns}" for ns in
               ("sub", "rt", "srv", "box", "pep")),
       "link add eth0 netns sub type veth peer name sub0 netns rt",
       "link add eth0 netns srv type veth peer name srv0 netns rt",
       "link add trunk netns rt type veth peer name port netns box",
       *(f"link add {veth} netns box type veth peer name {dev} netns pep"
         for _, veth, dev, _ in VLANS))
    ip("rt", "link set trunk up",
       *(f"link add link trunk name {name}{tag} type vlan id {tag}"
         for name, _, _, tag in VLANS))
    space_up("sub", ("eth0", "198.18.0.2", "2001:db8::2"))
    space_up("srv", ("eth0", "198.18.1.2", "2001:db8:1::2"))
    space_up("rt", ("sub0", "198.18.0.1", "2001:db8::1"),
             ("srv0", "198.18.1.1", "2001:db8:1::1"),
             ("c10", "198.18.10.1", "2001:db8:10::1"),
             ("s20", "198.18.20.1", "2001:db8:20::1"))
    space_up("pep", ("wl0", "198.18.10.2", "2001:db8:10::2"),
             ("sv0", "198.18.20.2", "2001:db8:20::2"))
    ip("box", *(f"link set {dev} up" for dev in ("port", "cv", "sv")))


def _routes():
    """The router sends packets from either end to pep, and packets from pep
    to the ends. In pep the default route leads to the subscriber's side;
    packets from subscribers are routed to the server's."""
    for family, sub, via_c, via_s in (
            (4, "198.18.0.0/24", "198.18.10.", "198.18.20."),
            (6, "2001:db8::/64", "2001:db8:10::", "2001:db8:20::")):
        for end in "sub", "srv":
            ip(end, "route add default via " + addr(
                "pep" if end == "sub" else "sv", family))
        ip("rt", "rule add iif sub0 lookup 10", "rule add iif srv0 lookup 20",
           f"route add default via {via_c}2 table 10",
           f"route add default via {via_s}2 table 20", family=family)
        ip("pep", f"rule add from {sub} lookup 20",
           f"route add default via {via_s}1 table 20",
           f"route add default via {via_c}1", family=family)
    sysctl("rt", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")
    sysctl("pep", "net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1")


def _steer():
    """The machine's tc, both directions."""
    tc("box", *(f"qdisc add dev {dev} clsact" for dev in ("port", "cv", "sv")),
       *(f"filter add dev port ingress pref {tag} protocol 802.1Q flower "
         f"vlan_id {tag} action vlan pop action mirred egress redirect "
         f"dev {veth}" for _, veth, _, tag in VLANS),
       *(f"filter add dev {veth} ingress matchall action vlan push id {tag} "
         "action mirred egress redirect dev port"
         for _, veth, _, tag in VLANS))


def container_up():
    """Set up everything except pep."""
    run("modprobe", "-qa", "8021q", "cls_flower", "act_vlan", "act_mirred",
        "sch_ingress", "cls_matchall", check=False)
    _links()
    _routes()
    _steer()
