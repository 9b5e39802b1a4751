#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Is a report of bench cost whole? Says what is not and fails.

usage: check.py FOLDER

The faults are lines on standard error, and the exit code is 1 then; it is 2
when the command line is wrong.
"""

import json
import pathlib
import sys

# pylint: disable=wrong-import-position
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "lib"))
from commandline import arguments, refuse  # noqa: E402
from works import WORKS  # noqa: E402


def faults(folder):
    """Errors of cost.json and cost.md, as lines."""
    raw = json.loads((folder / "cost.json").read_text("utf-8"))
    text = (folder / "cost.md").read_text("utf-8")
    for key in "command", "kernel", "family", "host", "packages":
        if not raw.get(key):
            yield f"nothing says with which {key}"
    runs = raw["results"]["cost"]["pep"]["runs"]
    for name, work in WORKS.items():
        for who in "forward", "pep":
            found = runs.get(name, {}).get(who, [])
            if not found or any(run["cost"] <= 0 for run in found):
                yield f"{who} has no cost of {name}"
        if f"| {work.title} | {work.unit} |" not in text:
            yield f"the table lacks {name}"
        if not any(run["pep"]["flow_established"]
                   for run in runs.get(name, {}).get("pep", [])):
            yield f"pep split no connection of {name}"


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
