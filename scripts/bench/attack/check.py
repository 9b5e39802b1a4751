#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Is a report of bench attack whole, and are all shares kept? Lists its faults
and fails.

usage: check.py FOLDER

The faults are lines on standard error, and the exit code is 1 then; it is 2
when the command line is wrong.
"""

import json
import pathlib
import sys

# pylint: disable=wrong-import-position
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from commandline import arguments, refuse  # noqa: E402
from report import TITLES, kept, shares, title  # noqa: E402


def faults(folder):
    """Errors of attack.json and attack.md, as lines."""
    raw = json.loads((folder / "attack.json").read_text("utf-8"))
    text = (folder / "attack.md").read_text("utf-8")
    runs = raw["runs"]
    for key in "command", "kernel", "family", "host", "packages":
        if not raw.get(key):
            yield f"nothing says with which {key}"
    for name, run in runs["pep"].items():
        if f"| {title(name)} |" not in text:
            yield f"the table lacks {name}"
        if not run["grown"].get("flow_established"):
            yield f"pep split no connection beside {name}"
        for key, left in run["left"].items():
            if left:
                yield f"{name}: {left} of {key} are left"
        if name in TITLES:
            continue
        if not run["count"]:
            yield f"{name}: nobody attacked"
        if not kept(shares(runs, name)):
            yield f"{name}: honest subscribers lose: {shares(runs, name)}"


def main():
    """Check the folder of the command line."""
    folder = pathlib.Path(*arguments(__doc__, 1, 1))
    try:
        found = list(faults(folder))
    except OSError as error:
        refuse(__doc__, f"{error.filename}: {error.strerror}")
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
