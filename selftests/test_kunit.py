# SPDX-License-Identifier: GPL-2.0
"""The module's unit tests, which run when their module is loaded; their
results are subtests of this test's case."""

import glob
import os

from peptest import env, pep
from peptest.ktap import case, expect_least, fail, skip
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
        expect_least("suites", len(paths), 1)
        for path in paths:
            with open(path, encoding="ascii") as file:
                text = file.read()
            print("".join(f"    {line}\n" for line in text.splitlines()),
                  flush=True)
            if not text.splitlines()[-1].startswith("ok "):
                fail(path)
    finally:
        run("rmmod", "pep_kunit")
