#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Flows by profile, their round trip times and losses, with nothing but the
netlink specification and the kernel's own ynl library for Python.

usage: flows.py YNL SPEC [PORT]

YNL is the folder tools/net/ynl of a kernel's source, 6.12 or later; SPEC is
pep.yaml. With PORT, of the server, the kernel leaves out other flows.
Prints, tab-separated, the profile, the number of its flows, the payload that
they have relayed in bytes, the highest smoothed round trip time of their
wireless legs in ms, and how much of what these have sent was sent again, in %.
The exit code is 2 when the command line is wrong.
"""

import os
import sys


def main():
    """Do what the command line asks for."""
    if sys.argv[1:] in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if len(sys.argv) not in (3, 4):
        print(__doc__.splitlines()[3], file=sys.stderr)
        return 2
    ynl_folder, spec, *port = sys.argv[1:]
    # The library is pyynl from 6.14 on.
    sys.path.append(ynl_folder)
    if os.path.isdir(os.path.join(ynl_folder, "pyynl")):
        from pyynl.lib import YnlFamily
    else:
        from lib import YnlFamily
    # The spec is outside a kernel's source: there is no schema beside it.
    ynl = YnlFamily(spec, schema="")
    wanted = {"server-port": int(port[0])} if port else {}
    rows = {}
    for flow in ynl.dump("flow-get", wanted):
        leg = flow.get("wireless", {})
        flows, relayed, rtt, sent, again = rows.get(flow["profile"],
                                                    (0, 0, 0, 0, 0))
        rows[flow["profile"]] = (
            flows + 1,
            relayed + flow["bytes-to-wireless"] + flow["bytes-to-server"],
            max(rtt, leg.get("srtt-us", 0)),
            sent + leg.get("data-segs-out", 0),
            again + leg.get("retrans", 0))
    for profile, (flows, relayed, rtt, sent, again) in sorted(rows.items()):
        print(f"{profile}\t{flows}\t{relayed}\t{rtt / 1000:.1f}"
              f"\t{100 * again / max(sent, 1):.1f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
