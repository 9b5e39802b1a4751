# SPDX-License-Identifier: GPL-2.0
"""Does the result of a checklist work, as far as a machine without the module
can show it? A function has the name of the list."""

import json
import os
import pathlib
import re
import tempfile

from scratch import Fault

TESTS = "kmod/kunit.o"
HERE = pathlib.Path(__file__).resolve().parent
# The cases of a test that read only files.
FILES = """
import test_counters
test_counters.spec()
test_counters.header()
from peptest import spec
assert not spec.load().differs(), spec.load().differs()
"""
# Wrong command lines of a profile, which pepadm refuses by itself.
REFUSED = """
import os
import test_pepadm_bad as test
from peptest import env, netns
env.PEPADM = os.path.abspath("../tools/pepadm/pepadm")
test.pepadm = lambda *words, **_: netns.run(env.PEPADM, *words, check=False)
test.state = lambda: None
test._before.append(None)
test.profile()
test.ranges()
"""
# The options in the output of "conf save", as tests have it.
PLAIN = """
from peptest import pep
print(*pep.PLAIN.splitlines()[0].split()[2::2])
"""
# The words that completion offers behind others.
OFFERED = """
PATH=$PWD/../pepadm:$PATH
. ./pepadm
_pepadm=(pepadm) _pepadm_ip=()
_pepadm_next "$@"
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
        scratch.run("pycodestyle", "--show-source", *python)
    jobs = f"-j{os.cpu_count()}"
    units = {path[:-1] + "o" for path in scratch.changed(".c")
             if path.startswith("kmod/")}
    # The kernels of distributions have no KUnit.
    for flags, some in (("-Werror", units - {TESTS}),
                        ("-Werror -DCONFIG_KUNIT=1", units & {TESTS})):
        if some:
            scratch.run("make", "-sC", kdir, f"M={scratch.top}", jobs, "W=1",
                        f"KCFLAGS={flags}", *sorted(some))
    if scratch.changed("uapi/linux/pep.h"):
        scratch.run("scripts/gen-netlink.sh", "--check", scratch.source)
        scratch.run("make", "-sC", "tools/pepadm", jobs, "CFLAGS=-O1")
        scratch.python(FILES, folder="selftests")
    scratch.run("scripts/check-counters.py")


def appended(scratch, prefix, name):
    """The header has a new number behind those that were there, or an anchor
    of the steps is no longer the last one."""
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


def option(scratch, data):
    """pepadm has the option, and so have the texts and tests that list all of
    them."""
    name = data["name"]
    appended(scratch, "PEP_A_PROFILE_", name)
    scratch.python(REFUSED, folder="selftests")
    plain = scratch.python(PLAIN, folder="selftests").split()
    offered = scratch.run("bash", "-c", OFFERED, "bash", "profile", "add", "x",
                          folder="tools/completion").split()
    expect("options of the usage text", sorted(offered), sorted(plain))
    expect("words that completion offers", scratch.run(
        "bash", "-c", OFFERED, "bash", "profile", "add", "x", name,
        folder="tools/completion").split(), data["words"])
    manual = (scratch.top / "Documentation/man/pepadm.8").read_text("utf-8")
    keys = set(re.findall(r"\w+", " ".join(re.findall(
        r"^\.Em (.*)$", manual, re.MULTILINE))))
    guide = (scratch.top / "Documentation/networking/pep-guide.rst"
             ).read_text("utf-8")
    for word in plain:
        if not re.search(rf"^\.It (Xo\n\.)?Cm (.* )?{word}( |$)", manual,
                         re.MULTILINE):
            raise Fault(f"the manual page does not explain {word}")
        if word.replace("-", "_") not in keys:
            raise Fault(f"the manual page has no key of {word}")
    for line in re.findall(r"^    profile \S+ (.* max-flows .*)$", guide,
                           re.MULTILINE):
        shown = line.split()[::2]
        expect("options that the guide's example lacks, or has too many",
               sorted(set(shown) ^ set(plain)), [])
        expect("order of the guide's example and of settings.yaml", shown,
               plain)


def selftest(scratch, data):
    """run.py has the test with its traits, and the test its cases."""
    name = data["name"]
    for kernel in data["kernels"]:
        for flag in "--list", "--full":
            names = scratch.run("selftests/run.py", flag, kernel).split()
            expect(f"run.py {flag} {kernel} has it", name in names,
                   flag in data["kernels"][kernel])
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
