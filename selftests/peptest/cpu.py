# SPDX-License-Identifier: GPL-2.0
"""CPUs of the guest."""

import os


def online(cpu, yes):
    """Set whether a CPU is online."""
    with open(f"/sys/devices/system/cpu/cpu{cpu}/online", "w",
              encoding="ascii") as file:
        file.write("1" if yes else "0")


def each():
    """Run on each CPU that this process may use in turn; yield its number."""
    cpus = os.sched_getaffinity(0)
    try:
        for cpu in sorted(cpus):
            os.sched_setaffinity(0, {cpu})
            yield cpu
    finally:
        os.sched_setaffinity(0, cpus)
