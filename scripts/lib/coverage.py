#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The lines and branches of the module that selftests have reached, by gcov.

usage: coverage.py TABLE LIST COMMAND OBJECTS COUNTS

TABLE becomes a table by file, LIST the functions that were never called and
the lines that were never reached; COMMAND is named in the table. OBJECTS is
the folder in which the module was built, and COUNTS has a folder for each
guest with its counts, NAME.gcda. Lines of errors are those that name an error
code, ERR_PTR or the counter of a lack of memory, or that jump to where an
error is handled. A branch is a way that a condition can lead; one into a WARN
is none, as it must not be taken. The exit code is 1 when no guest has counts,
and 2 when the command line is wrong.
"""

import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

from commandline import arguments

ERROR = re.compile(r"-E[A-Z]{3,}|ERR_PTR\(|_NO_MEMORY|\bgoto ")
WARN = re.compile(r"\bWARN_ON(_ONCE)?\(")
SECONDS = 60            # that gcov may take for a file
HEAD = """\
# What the selftests reach

Written by `{command}`: lines, lines about errors and branches of the module
that are reached on User Mode Linux. That has one CPU: a line that needs a race
between CPUs is not. A line about errors names an error code, or jumps to where
one is handled; a branch is a way that a condition can lead.

| file | lines | lines about errors | branches |
|---|---|---|---|"""


class Source:
    """What is known of a file of the module."""

    def __init__(self, path):
        self.path = path
        self.text = path.read_text(encoding="utf-8").splitlines()
        self.lines = collections.Counter()
        self.branches = collections.Counter()
        self.functions = collections.Counter()

    def add(self, found):
        """Add what gcov has found in one guest."""
        for function in found["functions"]:
            self.functions[function["name"]] += function["execution_count"]
        for line in found["lines"]:
            number = line["line_number"]
            self.lines[number] += line["count"]
            if WARN.search(self.text[number - 1]):
                continue
            for index, branch in enumerate(line["branches"]):
                self.branches[number, index] += branch["count"]

    def errors(self):
        """The counts of the lines that are about errors."""
        return {number: count for number, count in self.lines.items()
                if ERROR.search(self.text[number - 1])}

    def missed(self):
        """The lines that were never reached, as text."""
        return [f"{self.path.name}:{number}: {self.text[number - 1].strip()}"
                for number, count in sorted(self.lines.items()) if not count]


def gcov(objects, counts):
    """The findings of gcov for the object files of one guest."""
    with tempfile.TemporaryDirectory() as folder:
        for path in counts.glob("*.gcda"):
            shutil.copy(path, folder)
            shutil.copy((objects / path.name).with_suffix(".gcno"), folder)
        for path in sorted(pathlib.Path(folder).glob("*.gcda")):
            out = subprocess.run(
                ["gcov", "--json-format", "--stdout", "--branch-probabilities",
                 path.name], cwd=folder, stdout=subprocess.PIPE, check=True,
                timeout=SECONDS)
            for line in out.stdout.splitlines():
                yield from json.loads(line)["files"]


def sources(objects, counts):
    """The module's files, with the counts of all guests."""
    found = {}
    for guest in sorted(counts.iterdir()):
        for file in gcov(objects, guest):
            path = objects / pathlib.Path(file["file"]).name
            # Its own files only, and each in its own object file.
            if path.suffix != ".c" or not path.exists() or \
                    pathlib.Path(file["file"]).parent.name != objects.name:
                continue
            found.setdefault(path.name, Source(path)).add(file)
    return [found[name] for name in sorted(found)]


def share(counts):
    """Reached of all, and per cent."""
    reached = sum(1 for count in counts.values() if count)
    if not counts:
        return "-"
    return f"{reached} of {len(counts)}, {100 * reached / len(counts):.1f} %"


def table(files, command):
    """The text of the table."""
    out = [HEAD.format(command=command)]
    total = [collections.Counter() for _ in range(3)]
    for file in files:
        kinds = file.lines, file.errors(), file.branches
        for sums, counts in zip(total, kinds):
            sums.update({(file.path.name, key): count
                         for key, count in counts.items()})
        out.append(" | ".join([f"| {file.path.name}",
                               *map(share, kinds)]) + " |")
    out.append(" | ".join(["| all", *map(share, total)]) + " |")
    return "\n".join(out) + "\n"


def main():
    """Write the table and the list."""
    to, to_list, command, objects, counts = arguments(__doc__, 5, 5)
    files = sources(pathlib.Path(objects), pathlib.Path(counts))
    if not files:
        print("coverage: no guest has left counts", file=sys.stderr)
        sys.exit(1)
    pathlib.Path(to).write_text(table(files, command), encoding="utf-8")
    missed = [line for file in files for line in file.missed()]
    never = [f"{file.path.name}: {name}() is never called" for file in files
             for name, count in sorted(file.functions.items()) if not count]
    pathlib.Path(to_list).write_text("\n".join(never + missed) + "\n",
                                     encoding="utf-8")


if __name__ == "__main__":
    main()
