# SPDX-License-Identifier: GPL-2.0
"""Traits of the selftests, and the kernels that run them. A test declares its
traits on a line "TRAITS = {...}", which is read without importing the test."""

import ast
import glob
import os
import re

from . import env

MEANINGS = {
    "alone": "needs all CPUs at once, and a guest that computes alone: the "
             "emulator may end that guest",
    "waits": "mostly waits: such tests share a guest",
    "simulated": "waits for long, or needs packets in order, and can run in "
                 "simulated time: the full run has it on sim, not on stock",
    "once": "reads and sets the module, or brings connections into every "
            "situation, with the same result whatever else runs: the full "
            "run has it on simdebug only, unless it races",
    "ordered": "needs packets in the order in which they were sent, which "
               "CPUs of an emulated guest do not keep",
    "clocked": "measures rates and round trips with a clock that stands "
               "still while the kernel computes",
    "longest": "takes longest on User Mode Linux: its guests take turns",
    "programs": "is about programs, which the debug kernel and rt only make "
                "slow",
    "machine": "needs features that User Mode Linux lacks: several CPUs, or "
               "administrators while connections never pause, events, "
               "netfilter's queues, ciphers",
    "races": "CPUs meet in the same flows, devices, profiles or in the "
             "module's exit: the debug kernel has no others in the full run",
    "leaks": "looks for lost memory, which slows down every allocation: it "
             "comes first",
}


def tests():
    """The names of all tests."""
    return sorted(os.path.basename(path)[5:-3] for path in
                  glob.glob(os.path.join(env.TOP, "selftests/test_*.py")))


def of(name):
    """The traits of a test."""
    path = os.path.join(env.TOP, f"selftests/test_{name}.py")
    with open(path, encoding="utf-8") as file:
        found = re.search(r"^TRAITS = (.*)$", file.read(), re.MULTILINE)
    if not found:
        return set()
    traits = ast.literal_eval(found[1])
    unknown = traits - MEANINGS.keys()
    if unknown:
        raise ValueError(f"{path}: no such trait: {min(unknown)}")
    return traits


def suits(name, kernel):
    """Does a kernel run the test unless it is named?"""
    traits = of(name)
    if kernel == "sim":
        return "simulated" in traits
    if kernel == "simdebug":
        return "machine" not in traits
    if traits & {"ordered", "clocked"}:
        return False
    return kernel not in ("debug", "rt") or "programs" not in traits


def full(name, kernel):
    """Does a kernel run the test in the full run?"""
    traits = of(name)
    if kernel == "stock" and traits & {"simulated", "once"}:
        return False
    if kernel == "debug" and "races" not in traits:
        return False
    return suits(name, kernel)
