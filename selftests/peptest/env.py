# SPDX-License-Identifier: GPL-2.0
"""Settings from run.py, passed in the environment."""

import os
from os.path import abspath, dirname, join

TOP = dirname(dirname(dirname(abspath(__file__))))
PLUGINS = join(TOP, "tools", "tc")      # of tc
KERNEL = os.environ.get("PEP_KERNEL", "stock")
KO = os.environ.get("PEP_KO", "")
# The congestion control that comes with the module, compressed like it.
BBR_KO = KO.replace("pep.ko", "pep_bbr.ko")
KUNIT_KO = os.environ.get("PEP_KUNIT", "")
PEPADM = os.environ.get("PEPADM", "")
YNL = os.environ.get("PEP_YNL", "")     # tools/net/ynl of a kernel
PROMTOOL = os.environ.get("PEP_PROMTOOL", "")
# Duration of test_soak.py, 0 for a short run that shows that it works, and the
# seed of its random numbers.
SOAK_SECONDS = int(os.environ.get("PEP_SOAK_SECONDS") or 0)
SOAK_SEED = int(os.environ.get("PEP_SOAK_SEED") or 1)
# Number of messages that test_nlfuzz.py sends, 0 for as many as are needed for
# all kinds to occur, and the seed of its random numbers.
NLFUZZ_MESSAGES = int(os.environ.get("PEP_NLFUZZ_MESSAGES") or 0)
NLFUZZ_SEED = int(os.environ.get("PEP_NLFUZZ_SEED") or 1)
# Extra seconds for a test whose duration is set.
LONGER = 2 * SOAK_SECONDS + NLFUZZ_MESSAGES // 50
# Nothing is loaded: the same connections over plain forwarding. Cases that
# prove that pep took part must then fail.
WITHOUT = os.environ.get("PEP_WITHOUT") == "1"
# Of the cases only those with this in their text.
CASE = os.environ.get("PEP_CASE", "")
# The kernel checks for errors: KASAN, lockdep, kmemleak, failslab.
DEBUG = KERNEL in ("debug", "simdebug")
SLOW = KERNEL in ("debug", "rt")       # and is emulated
# Computing takes no time: delays are exactly as configured.
EXACT = KERNEL == "sim"
# Computing takes simulated time, more on a busy host: delays grow there.
LATE = KERNEL == "simdebug"


def amount(number):
    """Payload in bytes, or a rate, scaled to the kernel: the debug kernel
    moves about a megabyte per second under emulation, so use a tenth."""
    return number // 10 if SLOW else number
