#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print the names of attacks.

usage: plan.py full|short
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "selftests")]

# pylint: disable=wrong-import-position
from attacks import ATTACKS, SHORT  # noqa: E402

CALM = "none", "none-early"     # no attack, by the kind of profile


def main():
    """Print them."""
    if sys.argv[1:] not in (["full"], ["short"]):
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    print(*CALM, *(SHORT if sys.argv[1] == "short" else ATTACKS))


if __name__ == "__main__":
    main()
