# SPDX-License-Identifier: GPL-2.0
"""Files of the kernel's debugfs, which is mounted on first use."""

import os
import subprocess

ROOT = "/sys/kernel/debug"


def path(name):
    """The path of a file."""
    if not os.listdir(ROOT):
        subprocess.run(["mount", "-t", "debugfs", "none", ROOT], check=True)
    return f"{ROOT}/{name}"


def read(name):
    """The content of a file."""
    with open(path(name), encoding="utf-8", errors="replace") as file:
        return file.read()


def write(name, value):
    """Set the content of a file."""
    with open(path(name), "w", encoding="ascii") as file:
        file.write(str(value))
