# SPDX-License-Identifier: GPL-2.0
"""What run.py was told, by the environment."""

import os
from os.path import abspath, dirname

TOP = dirname(dirname(dirname(abspath(__file__))))
KERNEL = os.environ.get("PEP_KERNEL", "stock")
KO = os.environ.get("PEP_KO", "")
# The congestion control that comes with it, compressed as it is.
BBR_KO = KO.replace("pep.ko", "pep_bbr.ko")
KUNIT_KO = os.environ.get("PEP_KUNIT", "")
PEPADM = os.environ.get("PEPADM", "")
YNL = os.environ.get("PEP_YNL", "")     # tools/net/ynl of a kernel
PROMTOOL = os.environ.get("PEP_PROMTOOL", "")
# How long test_soak.py lives, 0 for as long as it takes to see that it can,
# and where its random numbers begin.
SOAK_SECONDS = int(os.environ.get("PEP_SOAK_SECONDS") or 0)
SOAK_SEED = int(os.environ.get("PEP_SOAK_SEED") or 1)
# How many messages test_nlfuzz.py sends, 0 for as many as it takes to see that
# all kinds come, and where its random numbers begin.
NLFUZZ_MESSAGES = int(os.environ.get("PEP_NLFUZZ_MESSAGES") or 0)
NLFUZZ_SEED = int(os.environ.get("PEP_NLFUZZ_SEED") or 1)
# Seconds by which a test that was told how long it lasts may take longer.
LONGER = 2 * SOAK_SECONDS + NLFUZZ_MESSAGES // 50
# Nothing is loaded: the same connections over plain forwarding. Cases that
# prove that pep had a part in it must fail then.
WITHOUT = os.environ.get("PEP_WITHOUT") == "1"
# It checks for errors: KASAN, lockdep, kmemleak, failslab.
DEBUG = KERNEL in ("debug", "simdebug")
SLOW = KERNEL in ("debug", "rt")       # and is emulated
# Computing takes no time: delays are what they are set to.
EXACT = KERNEL == "sim"
# Computing takes simulated time, more on a busy host: delays grow there.
LATE = KERNEL == "simdebug"


def amount(number):
    """Payload in bytes, or a rate, as fits the kernel: the debug kernel moves
    about a megabyte per second under emulation, a tenth has to do."""
    return number // 10 if SLOW else number
