# SPDX-License-Identifier: GPL-2.0
"""Does the result of a checklist work, as far as a machine without the module
can show it? A function has the name of the list."""

import json
import os
import pathlib
import re
import tempfile

from scratch import Fault

HERE = pathlib.Path(__file__).resolve().parent
# The cases of a test that read only files.
FILES = """
import test_counters
test_counters.spec()
test_counters.header()
from peptest import spec
assert not spec.load().differs(), spec.load().differs()
"""
# The docstring, the setup and the cases of a test.
CASES = """
import importlib, json, sys
from peptest import ktap
test = importlib.import_module("test_" + sys.argv[1])
print(json.dumps([test.__doc__, test.setup.__name__,
                  [[text, seconds] for text, _, _, seconds in ktap._cases]]))
"""


def expect(what, got, wanted):
    """Fail unless two values are equal."""
    if got != wanted:
        raise Fault(f"{what}: {got!r} instead of {wanted!r}")


def common(scratch, kdir):
    """Changed sources compile, and their checks pass."""
    python = scratch.changed(".py")
    if python:
        scratch.run("pyflakes3", *python)
        scratch.run("pycodestyle", *python)
    units = [path[:-1] + "o" for path in scratch.changed(".c")
             if path.startswith("kmod/")]
    jobs = f"-j{os.cpu_count()}"
    if units:
        scratch.run("make", "-sC", kdir, f"M={scratch.top}", jobs, "W=1",
                    "KCFLAGS=-Werror", *units)
    if scratch.changed("uapi/linux/pep.h"):
        scratch.run("scripts/gen-netlink.sh", "--check", scratch.source)
        scratch.run("make", "-sC", "tools/pepadm", jobs, "CFLAGS=-O1")
        scratch.python(FILES, folder="selftests")
    scratch.run("scripts/check-counters.py")


def appended(scratch, prefix, name):
    """The header has a new number behind those that were there."""
    def names(top):
        header = (top / "uapi/linux/pep.h").read_text("utf-8")
        return re.findall(rf"^\t{prefix}(\w+)(?: = \d+)?,$", header,
                          re.MULTILINE)
    expect(f"{prefix}*", names(scratch.top),
           names(scratch.tree.top) + [name.upper().replace("-", "_")])


def counter(scratch, data):
    """The counter has the last number and a name, and is in its series."""
    appended(scratch, "PEP_A_STAT_", data["name"])
    code = "import sys; sys.argv.pop(0); from importlib import import_module" \
        "; print(import_module('check-counters').series(sys.argv[0], " \
        "open('../tools/pepadm/metrics.c').read()))"
    expect("its series", scratch.python(
        code, data["name"].replace("-", "_"), folder="scripts").strip(),
        data["series"])


def selftest(scratch, data):
    """run.py has the test with its traits, and the test its cases."""
    name = data["name"]
    for kernel in data["kernels"]:
        for option in "--list", "--full":
            names = scratch.run("selftests/run.py", option, kernel).split()
            expect(f"run.py {option} {kernel} has it", name in names,
                   option in data["kernels"][kernel])
    doc, setup, cases = json.loads(scratch.python(CASES, name,
                                                  folder="selftests"))
    expect("docstring, setup", (bool(doc), setup), (True, data["setup"]))
    expect("cases", cases, data["cases"])


def cell(scratch, data):
    """The set has the cell, a run of it is planned, and the report shows its
    figures, here made up ones."""
    folder = "scripts/bench/link"
    where = [f"{key}={data[key]}" for key in ("link", "work", "by")]
    scratch.run("./sets.py", "standard", *where, folder=folder)
    program = (HERE / "cell.py").read_text("utf-8")
    with tempfile.TemporaryDirectory() as runs:
        scratch.python(program, runs, json.dumps(data), *where,
                       folder=folder)
