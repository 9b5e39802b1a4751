#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what pep's records of ended flows cost.

usage: record.py CONTESTANT full|short FAMILY

Does short connections while nobody listens and while pepadm monitor does; its
own instructions are in the figure. Prints what it does and writes what was
measured as JSON.
"""

import os
import subprocess

import bed
from contestants import CONTESTANTS
from peptest import env
from peptest.ktap import wait_for
from peptest.netns import Within
from works import WORKS


def listens(process):
    """Is a process a member of a group of generic netlink?"""
    with Within("pep"), open("/proc/thread-self/net/netlink",
                             encoding="ascii") as file:
        rows = [line.split() for line in file.readlines()[1:]]
    return any(int(row[2]) == process.pid and int(row[3], 16) for row in rows)


def main():
    """Measure without a listener and with one."""
    contestant, size, family = bed.arguments(__doc__)
    work = WORKS["short"]
    bed.up(family)
    with CONTESTANTS[contestant]():
        runs = {"nobody": bed.rounds(work, "nobody listens", size, family)}
        with Within("pep"), open(os.devnull, "wb") as null:
            process = subprocess.Popen([env.PEPADM, "monitor", "closed"],
                                       stdout=null)
        wait_for("its membership", lambda: listens(process))
        runs["monitor"] = bed.rounds(work, "pepadm monitor", size, family)
        process.kill()
        process.wait()
    bed.down()
    bed.result("record", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
