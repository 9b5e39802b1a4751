#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the direction of includes between the files of the module.

usage: check-includes.py DESIGN.rst FOLDER

The file map in DESIGN.rst gives every header a level, in lines that begin
with "LEVEL  NAME.h". A header may include only headers of lower levels, and a
.c file includes its own header before any other. Generated headers
(NAME-gen.h) have no level: everyone may include them, and they nothing of
ours.
"""

import pathlib
import re
import sys

MAP = re.compile(r"^\s*(\d+)\s+`{0,2}([a-z0-9-]+\.h)\b")
INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def read_levels(design):
    """Return the level of every header of the file map, and what is wrong
    with the map itself."""
    levels, errors = {}, []
    for number, line in enumerate(design.read_text().splitlines(), 1):
        entry = MAP.match(line)
        if not entry:
            continue
        level, name = int(entry.group(1)), entry.group(2)
        if levels.get(name, level) != level:
            errors.append(f"{design}:{number}: {name} has two levels")
        levels[name] = level
    if not levels:
        errors.append(f"{design}: no file map (lines of LEVEL  NAME.h)")
    return levels, errors


def includes(path):
    """Yield line number, name and whether it is quoted of every include."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(2), found.group(1) == '"'


def check_header(path, levels):
    """Return what is wrong with one header."""
    errors = []
    generated = path.name.endswith("-gen.h")
    if not generated and path.name not in levels:
        errors.append(f"{path}: not in the file map")
    own = levels.get(path.name, 0)
    for number, name, quoted in includes(path):
        if not quoted or name.endswith("-gen.h"):
            continue
        level = levels.get(name)
        if level is None:
            errors.append(f"{path}:{number}: {name} is not in the file map")
        elif generated or level >= own:
            errors.append(f"{path}:{number}: {name} (level {level}) is not "
                          f"below {path.name} (level {own})")
    return errors


def check_source(path, folder):
    """Return what is wrong with one .c file."""
    own = path.stem + ".h"
    if not (folder / own).exists():
        return []
    for number, name, _ in includes(path):
        if name != own:
            return [f"{path}:{number}: {own} must be included first"]
        return []
    return [f"{path}: does not include {own}"]


def main():
    """Check a folder against the map."""
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[2])
    levels, errors = read_levels(pathlib.Path(sys.argv[1]))
    for path in sorted(folder.glob("*.h")):
        errors += check_header(path, levels)
    for path in sorted(folder.glob("*.c")):
        if not path.name.endswith("-gen.c"):
            errors += check_source(path, folder)
    for name in sorted(levels):
        if not (folder / name).exists():
            errors.append(f"{sys.argv[1]}: {name} is in the file map only")
    for error in errors:
        print(error, file=sys.stderr)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
