#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Hold the direction of includes between the files of the module.

usage: check-includes.py DESIGN.rst FOLDER

The file map in DESIGN.rst gives every header a level, in lines that begin
with "LEVEL  NAME.h". A header may include only headers of lower levels, and a
.c file includes its own header before any other. Generated headers
(NAME-gen.h) have no level: everyone may include them, and they nothing of
ours.

Errors are lines on standard error, and the exit code is 1 then; it is 2 when
the command line is wrong.
"""

import pathlib
import re
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from levels import main  # noqa: E402 pylint: disable=wrong-import-position

INCLUDE = re.compile(r'^\s*#\s*include\s+(["<])([^">]+)[">]')


def includes(path):
    """Yield each include as line number, name and whether it is quoted."""
    for number, line in enumerate(path.read_text().splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            yield number, found.group(2), found.group(1) == '"'


def check_header(path, levels):
    """Return the errors of one header."""
    errors = []
    generated = path.name.endswith("-gen.h")
    if not generated and path.stem not in levels:
        errors.append(f"{path}: not in the file map")
    own = levels.get(path.stem, 0)
    for number, name, quoted in includes(path):
        if not quoted or name.endswith("-gen.h"):
            continue
        level = levels.get(name.removesuffix(".h"))
        if level is None:
            errors.append(f"{path}:{number}: {name} is not in the file map")
        elif generated or level >= own:
            errors.append(f"{path}:{number}: {name} (level {level}) is not "
                          f"below {path.name} (level {own})")
    return errors


def check_source(path, folder):
    """Return the errors of one .c file."""
    own = path.stem + ".h"
    if not (folder / own).exists():
        return []
    for number, name, _ in includes(path):
        if name != own:
            return [f"{path}:{number}: {own} must be included first"]
        return []
    return [f"{path}: does not include {own}"]


def check(design, folder, levels):
    """Return all errors of the files of a folder."""
    errors = []
    for path in sorted(folder.glob("*.h")):
        errors += check_header(path, levels)
    for path in sorted(folder.glob("*.c")):
        if not path.name.endswith("-gen.c"):
            errors += check_source(path, folder)
    for name in sorted(levels):
        if not (folder / f"{name}.h").exists():
            errors.append(f"{design}: {name}.h is in the file map only")
    return errors


if __name__ == "__main__":
    sys.exit(main(__doc__, check))
