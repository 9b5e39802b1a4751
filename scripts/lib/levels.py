# SPDX-License-Identifier: GPL-2.0
"""The levels of the module's files, and commands that hold the sources to
them: check-includes.py and check-calls.py.

The file map in Documentation/networking/pep-design.rst gives each file a
level, in lines that begin with "LEVEL  NAME.h".
"""

import pathlib
import re
import sys

from commandline import arguments, refuse

MAP = re.compile(r"^\s*(\d+)\s+`{0,2}([a-z0-9-]+)\.h\b")


def read_levels(design):
    """Return the level of every file of the file map, by its name without the
    suffix, and the errors in the map itself."""
    levels, errors = {}, []
    for number, line in enumerate(design.read_text().splitlines(), 1):
        entry = MAP.match(line)
        if not entry:
            continue
        level, name = int(entry.group(1)), entry.group(2)
        if levels.get(name, level) != level:
            errors.append(f"{design}:{number}: {name}.h has two levels")
        levels[name] = level
    if not levels:
        errors.append(f"{design}: no file map (lines of LEVEL  NAME.h)")
    return levels, errors


def main(usage, check):
    """Run a command with the arguments DESIGN FOLDER: print the errors of the
    map and those that check(design, folder, levels) returns. Return the exit
    code."""
    design, folder = map(pathlib.Path, arguments(usage, 2, 2))
    if not design.is_file() or not folder.is_dir():
        refuse(usage, f"no such file or folder: {design}, {folder}")
    levels, errors = read_levels(design)
    errors += check(design, folder, levels)
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0
