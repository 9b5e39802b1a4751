#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print the names of attacks.

usage: plan.py full|short

They go to standard output, in one line. The exit code is 2 when the command
line is wrong.
"""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[2] / "selftests"),
                str(HERE.parents[1] / "lib")]

# pylint: disable=wrong-import-position
from attacks import ATTACKS, SHORT  # noqa: E402
from commandline import arguments, one_of  # noqa: E402

CALM = "none", "none-early"     # no attack, by the kind of profile


def main():
    """Print them."""
    size, = arguments(__doc__, 1, 1)
    one_of(__doc__, "size", size, ("full", "short"))
    print(*CALM, *(SHORT if size == "short" else ATTACKS))


if __name__ == "__main__":
    main()
