#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what pep's records of ended flows cost.

usage: record.py CONTESTANT full|short FAMILY

Does short connections while nobody listens and while pepadm monitor does; its
own instructions are in the figure. Prints thousands of instructions per
connection and writes record-CONTESTANT.json.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
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
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
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
