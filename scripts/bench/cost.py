#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what a contestant costs, against plain forwarding.

usage: cost.py CONTESTANT full|short FAMILY

Prints what it does, and the figures of works.py in millions of instructions
per MB, or thousands per connection and transaction. Writes what was measured
to cost-CONTESTANT.json: instructions, as ns of the clock that counts them.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import bed
from contestants import CONTESTANTS
from works import WORKS


def main():
    """Measure plain forwarding and the contestant."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    bed.up(family)
    runs = {}
    for who in dict.fromkeys(("forward", contestant)):
        with CONTESTANTS[who]():
            for work in WORKS.values():
                found = bed.rounds(work, who, size, family)
                runs.setdefault(work.name, {})[who] = found
    bed.down()
    bed.result("cost", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
