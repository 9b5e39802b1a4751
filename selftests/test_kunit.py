# SPDX-License-Identifier: GPL-2.0
"""The module's unit tests, which run when their module is loaded; their
results are subtests of this test's case."""

import glob
import os

from peptest import env, pep
from peptest.ktap import case, expect, fail, skip
from peptest.netns import run

setup = pep.detached


@case("unit tests")
def unit_tests():
    if not env.KUNIT_KO:
        skip("this kernel has no KUnit")
    if not os.path.isdir("/sys/kernel/debug/kunit"):
        run("mount", "-t", "debugfs", "none", "/sys/kernel/debug")
    run("insmod", env.KUNIT_KO)
    try:
        paths = glob.glob("/sys/kernel/debug/kunit/pep*/results")
        expect("suites", len(paths), 2)
        print(f"    KTAP version 1\n    1..{len(paths)}")
        for number, path in enumerate(paths, 1):
            with open(path, encoding="ascii") as file:
                lines = file.read().splitlines()
            # Each has a plan of its own, for itself alone.
            expect("plan", lines[1], "1..1")
            lines[-1] = lines[-1].replace("ok 1 ", f"ok {number} ", 1)
            print("".join(f"    {line}\n" for line in lines[2:]), flush=True)
            if not lines[-1].startswith("ok "):
                fail(path)
    finally:
        run("rmmod", "pep_kunit")
