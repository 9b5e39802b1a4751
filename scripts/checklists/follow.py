#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Follow the checklists of CONTRIBUTING.rst, each in a copy of the tree, and
see whether the result works.

usage: follow.py FILES KDIR SOURCE [LIST...]

FILES lists the files of the project, KDIR has the headers of a kernel and
SOURCE the source of one with the generator of netlink code. LIST is counter,
option, selftest or cell, whose steps are in LIST.yaml; by default all are
followed. A step is of an item of the list. It changes a file: "add" behind or
before an anchor or instead of one, or a new file; it generates the netlink
code; or it needs a guest, and is left out here. Faults are listed, and cause
exit code 1.

The list names every file that a step changes, and the number of those that are
changed by hand; every file that it names is there, and every other word in
its literals is one of these files or of others in their folders.
"""

import pathlib
import sys

import yaml

import results
from scratch import Fault, Scratch
from section import Section, Tree

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "lib"))
from commandline import arguments, one_of  # noqa: E402 pylint: disable=wrong-import-position

LISTS = "counter", "option", "selftest", "cell"


def differences(section, steps, scratch):
    """Steps that the text of a list lacks, as lines."""
    if list(steps) != list(section.items):
        yield f"steps are of the items {list(steps)}, not of " \
            f"{list(section.items)}"
    for path in sorted(scratch.hand | scratch.made):
        if not section.names(path):
            yield f"{path} is changed and not named"
    if section.count() != len(scratch.hand):
        yield f"{len(scratch.hand)} files are changed by hand, but the text " \
            f"has {section.count()}"


def follow(name, tree, kdir, source):
    """Follow a list; yield its faults."""
    data = yaml.safe_load((HERE / f"{name}.yaml").read_text("utf-8"))
    section = Section(tree, data["section"])
    yield from section.faults
    with Scratch(tree, source) as scratch:
        try:
            for steps in data["steps"].values():
                for step in steps:
                    scratch.follow(step)
            yield from differences(section, data["steps"], scratch)
            results.common(scratch, kdir)
            getattr(results, name)(scratch, data)
        except Fault as fault:
            yield str(fault)
        print(f"{name}: {len(scratch.hand)} files by hand, "
              f"{len(scratch.made)} generated")


def main():
    """Follow the lists of the command line."""
    files, kdir, source, *names = arguments(__doc__, 3)
    for name in names:
        one_of(__doc__, "list", name, LISTS)
    tree = Tree(HERE.parents[1], pathlib.Path(files).read_text(
        "utf-8").splitlines())
    failed = False
    for name in names or LISTS:
        for line in follow(name, tree, kdir, source):
            failed = True
            print(f"checklists: {name}: {line}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
