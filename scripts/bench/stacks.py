# SPDX-License-Identifier: GPL-2.0
"""Call chains from perf's records."""

import bisect
import collections
import re
import subprocess

FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((?:.*/)?(.*)\)$")
KERNEL = 1 << 63        # addresses from here on are the kernel's
IDLE = re.compile(r"(pv_native_safe_halt|default_idle|native_safe_halt|"
                  r"acpi_(safe_halt|idle)|intel_idle|arch_cpu_idle|"
                  r"cpu_idle_poll|mwait_idle|acpi_processor_ffh)")


class Symbols:
    """The functions of the guest's kernel. perf would look for them in the
    kernel of the host as well."""

    def __init__(self, path):
        """Read a copy of /proc/kallsyms."""
        found = []
        with open(path, encoding="ascii") as file:
            for line in file:
                address, kind, name, *module = line.split()
                if kind in "tTwW":
                    owner = module[0] if module else "[kernel]"
                    found.append((int(address, 16), f"{name} {owner}"))
        found.sort()
        self.addresses = [address for address, _ in found]
        self.names = [name for _, name in found]

    def name(self, address):
        """The function that an address is in: "symbol object"."""
        return self.names[bisect.bisect_right(self.addresses, address) - 1]


def parse(lines, symbols):
    """Count the stacks in the output of perf script: a counter of tuples
    (program, frame...), outermost frame first; a frame is "symbol object".
    Idle time and perf's own stacks are left out."""
    found = collections.Counter()
    comm, frames = "", []
    for line in lines:
        match = FRAME.match(line)
        if match:
            address = int(match[1], 16)
            frames.append(symbols.name(address) if address >= KERNEL
                          else f"{match[2]} {match[3]}")
        elif line.strip():
            comm = line.strip()
        else:
            if frames and not comm.startswith("perf") and \
                    not IDLE.match(frames[0]):
                found[comm, *reversed(frames)] += 1
            frames = []
    return found


def read(data, symbols):
    """The stacks of a file of records."""
    with subprocess.Popen(
            ["perf", "script", "-i", data, "-F", "comm,ip,sym,dso"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
            text=True) as perf:
        return parse(perf.stdout, symbols)
