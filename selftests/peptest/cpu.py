# SPDX-License-Identifier: GPL-2.0
"""CPUs of the guest."""


def online(cpu, yes):
    """Set whether a CPU is online."""
    with open(f"/sys/devices/system/cpu/cpu{cpu}/online", "w",
              encoding="ascii") as file:
        file.write("1" if yes else "0")
