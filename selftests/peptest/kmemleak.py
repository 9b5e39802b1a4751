# SPDX-License-Identifier: GPL-2.0
"""Unreferenced memory, as kmemleak finds it."""

import re
import time

from . import debugfs
from .ktap import Failure

AGE = 6                 # seconds; kmemleak ignores younger objects


def jiffies():
    """Now, as kmemleak counts it."""
    with open("/proc/timer_list", encoding="ascii") as file:
        return int(re.search(r"^jiffies: (\d+)", file.read(),
                             re.MULTILINE).group(1))


def leaks(since):
    """Leaked memory: unreferenced and unchanged in two scans, and allocated
    since then."""
    time.sleep(AGE)
    for _ in range(2):
        debugfs.write("kmemleak", "scan")
    objects = debugfs.read("kmemleak").split("unreferenced object")[1:]
    return [text for text in objects
            if int(re.search(r"jiffies (\d+)", text).group(1)) >= since]


def expect_none(since):
    """Fail if memory that was allocated since then is leaked."""
    found = leaks(since)
    if found:
        raise Failure("memory is lost: " + "\n".join(found[:5]))
