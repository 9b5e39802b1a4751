#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: sample in which functions a work spends instructions.

usage: sample.py CONTESTANT FAMILY WORK...

perf interrupts the CPU every so many instructions and records the call chain.
The records and the kernel's symbols are left in the folder for results, as
CONTESTANT-WHO-WORK-N.data and CONTESTANT-WHO-symbols; WHO is the contestant or
plain forwarding. profile-CONTESTANT.json has the costs of the works, in the
units of works.py.

CONTESTANT is a name of contestants.py, WORK one of works.py, FAMILY is 4 or 6.
BENCH_TOOLS names the folder tools/bench with its programs, BENCH_RESULTS the
folder for results. The exit code is 2 when the command line is wrong.
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
    contestant, family, *names = bed.words_of(__doc__, 3)
    bed.one_of(__doc__, "contestant", contestant, CONTESTANTS)
    for name in names:
        bed.one_of(__doc__, "work", name, WORKS)
    family = bed.family_of(__doc__, family)
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
