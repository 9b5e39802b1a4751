# SPDX-License-Identifier: GPL-2.0
"""The memory of the guest, and the part that connections take."""

import glob


def shrink():
    """Make the kernel free memory that it keeps but does not use."""
    with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
        file.write("3")
    for path in glob.glob("/sys/kernel/slab/*/shrink"):
        with open(path, "w", encoding="ascii") as file:
            file.write("1")


def available():
    """Memory that could be used, bytes."""
    with open("/proc/meminfo", encoding="ascii") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return 1024 * int(line.split()[1])
    raise ValueError("no MemAvailable")


def slabs():
    """Memory of the objects in use of each slab cache, bytes, with their part
    of the unused rest of their pages."""
    found = {}
    with open("/proc/slabinfo", encoding="ascii") as file:
        for line in file.read().splitlines()[2:]:
            name, active, _, _, per_slab, pages = line.split()[:6]
            found[name] = int(active) * 4096 * int(pages) / int(per_slab)
    return found


class Memory:
    """The memory at a time, to measure later use."""

    def __init__(self):
        shrink()
        self.available, self.slabs = available(), slabs()

    def taken(self, connections):
        """Return the memory that each of some connections has taken since,
        bytes: by MemAvailable, and by the slab caches."""
        shrink()
        return {"bytes_each": (self.available - available()) / connections,
                "slab_bytes_each": {
                    name: (size - self.slabs.get(name, 0)) / connections
                    for name, size in slabs().items()
                    if abs(size - self.slabs.get(name, 0)) > connections}}
