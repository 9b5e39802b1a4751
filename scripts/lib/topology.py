#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The network of the demo and of lab shell, made inside a guest.

usage: topology.py up          namespaces, addresses, links
       topology.py attach      load the module, attach pep

The selftests' topology with a radio in it: the wireless link between sub and
pep carries 20 Mbit/s and delays and loses packets, 30 ms and 1 % each way; the
server path takes 10 ms each way. attach needs the variables PEP_KO, the path
of the module, and PEPADM, that of the program. The exit code is 1 when a
command fails, and 2 when the command line is wrong.
"""

import pathlib
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "selftests"))

# pylint: disable=wrong-import-position
from commandline import arguments, one_of  # noqa: E402
from peptest import netns, pep  # noqa: E402
from peptest.ktap import Failure  # noqa: E402

# A direction of the wireless link. Only the random loss drops packets: 50 are
# on their way, 30 ms of 20 Mbit/s, and 950 may wait.
RADIO = ("rate", "20mbit", "delay", "30ms", "loss", "random", "1%",
         "limit", "1000")
PATH = "delay", "10ms", "limit", "20000"        # one of the server path


def up():
    """Make the topology. All devices carry single packets: "1 % loss" would be
    1 % of bursts of up to 64 KiB."""
    netns.topology_up()
    for devices, impairment in ((netns.WIRELESS, RADIO), (netns.SERVER, PATH)):
        for ns, dev in devices:
            netns.single_packets(ns, dev)
            netns.netem(ns, dev, *impairment)


def attach():
    """Load the module if it is not loaded, and attach it."""
    if not pep.loaded():
        pep.load()
    pep.attach()


def main():
    """Do what the command line asks for; print the reason of a failure."""
    steps = {"up": up, "attach": attach}
    (word,) = arguments(__doc__, 1, 1)
    one_of(__doc__, "command", word, steps)
    try:
        steps[word]()
    except (Failure, OSError, subprocess.SubprocessError) as error:
        print(f"{word} failed: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
