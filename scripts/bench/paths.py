# SPDX-License-Identifier: GPL-2.0
"""The offloads of the ends and of the gateway.

  tso      the ends hand over segments of up to 64 KB, as a NIC with LRO or a
           virtual one would
  mtu      the ends send packets of the MTU, 1448 bytes of payload each; the
           gateway takes them one by one
  mtu-gro  the same, the gateway puts them together by GRO
"""

from peptest.netns import offloads

PATHS = {
    # path: (tso and gso of the ends, gro of the gateway)
    "tso": ("on", "off"),
    "mtu": ("off", "off"),
    "mtu-gro": ("off", "on"),
}


def set_path(name):
    """Set up the topology for a path."""
    segment, gro = PATHS[name]
    for ns in "sub", "srv":
        offloads(ns, "eth0", "tso", segment, "gso", segment)
    for dev in "wl0", "sv0":
        offloads("pep", dev, "gro", gro)
