#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: sample in which functions a work spends instructions.

usage: sample.py CONTESTANT FAMILY WORK...

perf interrupts the CPU every so many instructions and records the call chain.
The records and the kernel's symbols are left in the folder for results, as
CONTESTANT-WHO-WORK-N.data and CONTESTANT-WHO-symbols; WHO is the contestant or
plain forwarding.
"""

import shutil
import sys

import bed
from contestants import CONTESTANTS
from paths import set_path
from works import WORKS

# Instructions between two samples, one run of the work with each: a work that
# repeats itself may have the rhythm of one of them, but not of all.
PERIODS = 199_999, 233_021, 271_003, 314_159


def sample(work, name, family):
    """Do a work under perf, once for each period."""
    for number, period in enumerate(PERIODS):
        data = f"{name}-{work.name}-{number}.data"
        bed.once(work, work.full, family, wrap=(
            "perf", "record", "-q", "-a", "-g", "-m", "8192", "-e",
            "cpu-clock", "-c", str(period), "-o", f"/tmp/{data}", "--"))
        shutil.move(f"/tmp/{data}", bed.path(data))


def main():
    """Sample plain forwarding and the contestant."""
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    contestant, family, *names = sys.argv[1:]
    family = int(family)
    bed.up(family)
    works = {}
    for who in dict.fromkeys(("forward", contestant)):
        with CONTESTANTS[who]():
            shutil.copyfile("/proc/kallsyms", bed.path(
                f"{contestant}-{who}-symbols"))
            for name in names:
                work = WORKS[name]
                set_path(work.path)
                bed.once(work, work.short, family)
                cost = bed.once(work, work.full, family)["cost"]
                print(f"  {who}: {work.title}: {cost:.3f} {work.unit}",
                      flush=True)
                works.setdefault(name, {})[who] = cost
                sample(work, f"{contestant}-{who}", family)
    bed.down()
    bed.result("profile", contestant, family=family, costs=works,
               periods=PERIODS)
    return 0


if __name__ == "__main__":
    sys.exit(main())
