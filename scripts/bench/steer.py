#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what pep's action takes for a packet that it leaves alone.

usage: steer.py CONTESTANT full|short FAMILY

Packets of no connection go through devices with the filters that pepadm
makes, first with an action that does nothing, then with pep's. Prints what it
does and writes what was measured as JSON.
"""

import bed
from contestants import CONTESTANTS
from peptest.netns import tc
from works import STEERING

DEVICES = "wl0", "sv0"


def drop():
    """Have the server drop what comes, so that it answers nothing."""
    packets = ("ip", "udp"), ("ip", "tcp"), ("ipv6", "udp"), ("ipv6", "tcp")
    tc("srv", "qdisc add dev eth0 clsact",
       *(f"filter add dev eth0 ingress pref {pref} protocol {protocol} "
         f"flower ip_proto {transport} action drop"
         for pref, (protocol, transport) in enumerate(packets, 1)))


def main():
    """Measure both actions."""
    contestant, size, family = bed.arguments(__doc__)
    bed.up(family)
    drop()
    for device in DEVICES:
        tc("pep", f"qdisc add dev {device} clsact",
           *(f"filter add dev {device} ingress pref {pref} "
             f"protocol {protocol} matchall skip_hw action pass"
             for pref, protocol in ((49153, "ip"), (49154, "ipv6"))))
    runs = {work.name: {"pass": bed.rounds(work, "pass", size, family)}
            for work in STEERING.values()}
    for device in DEVICES:
        tc("pep", f"qdisc del dev {device} clsact")
    with CONTESTANTS[contestant]():
        for work in STEERING.values():
            runs[work.name][contestant] = bed.rounds(work, contestant, size,
                                                     family)
    bed.down()
    bed.result("steer", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
