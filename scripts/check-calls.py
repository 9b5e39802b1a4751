#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the direction of calls between the files of the module.

usage: check-calls.py DESIGN.rst FOLDER

FOLDER has the sources and, compiled for any kernel, their objects. An object
that uses a function or a variable of another one calls that file; a symbol
that no object defines is the kernel's. No files may call each other in a
circle, and a file may call only files of lower levels: those that the file
map in DESIGN.rst gives in lines that begin with "LEVEL  NAME.h". A file
without a level is above all that have one. The unit tests may call everything.

Errors are lines on standard error, and the exit code is 1 then; it is 2 when
the command line is wrong.
"""

import pathlib
import subprocess
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from levels import main  # noqa: E402 pylint: disable=wrong-import-position

TESTS = "kunit"


def symbols(path):
    """Return the symbols that an object defines for others, and those that it
    uses from them."""
    listing = subprocess.run(["nm", "-g", path], stdout=subprocess.PIPE,
                             check=True, text=True).stdout
    defined, wanted = set(), set()
    for line in listing.splitlines():
        kind, name = line.split()[-2:]
        (wanted if kind in "Uvw" else defined).add(name)
    return defined, wanted


def read_calls(folder):
    """Return the symbols that each file uses from each other file, and the
    missing objects."""
    objects, missing = {}, []
    for source in sorted(folder.glob("*.c")):
        path = source.with_suffix(".o")
        if source.stem.startswith(TESTS) or source.name.endswith(".mod.c"):
            continue
        if path.exists():
            objects[source.stem] = symbols(path)
        else:
            missing.append(f"{path}: not compiled")
    owner = {symbol: name for name, (defined, _) in objects.items()
             for symbol in defined}
    calls = {name: {} for name in objects}
    for name, (_, wanted) in objects.items():
        for symbol in sorted(wanted & owner.keys()):
            calls[name].setdefault(owner[symbol], []).append(symbol)
    return calls, missing


def reachable(calls, start):
    """Return the files that a file calls, directly or through others."""
    found, ahead = set(), [start]
    while ahead:
        fresh = calls[ahead.pop()].keys() - found
        found |= fresh
        ahead += fresh
    return found


def check_circles(calls):
    """Return the calls that are part of a circle."""
    reach = {name: reachable(calls, name) for name in calls}
    return [f"{name}.c: a circle leads back from {other}.c "
            f"({', '.join(used)})"
            for name in calls for other, used in sorted(calls[name].items())
            if name in reach[other]]


def check_levels(calls, levels):
    """Return the calls that do not go to a lower level."""
    errors = []
    top = max(levels.values(), default=0) + 1
    for name in calls:
        own = levels.get(name, top)
        for other, used in sorted(calls[name].items()):
            level = levels.get(other, top)
            if level >= own and (name in levels or other in levels):
                errors.append(f"{name}.c (level {own}): {other}.c (level "
                              f"{level}) is not below ({', '.join(used)})")
    return errors


def check(_design, folder, levels):
    """Return the wrong calls of a folder's objects."""
    calls, errors = read_calls(folder)
    errors += check_circles(calls) + check_levels(calls, levels)
    if not any(calls.values()):
        errors.append(f"{folder}: no file calls another one")
    return errors


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
