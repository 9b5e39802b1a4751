#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what a contestant costs, against plain forwarding.

usage: cost.py CONTESTANT full|short FAMILY

Prints what it does and writes what was measured as JSON.
"""

import bed
from contestants import CONTESTANTS
from works import WORKS


def main():
    """Measure plain forwarding and the contestant."""
    contestant, size, family = bed.arguments(__doc__)
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
