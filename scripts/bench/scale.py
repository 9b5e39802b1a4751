#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: what a second CPU is worth.

usage: scale.py CONTESTANT full|short FAMILY

Two clients with a server each do the same work with one CPU online and with
two, on which they are pinned one each: so flows are spread, and a packet is
worked on where it was sent. Rounds alternate, for other programs of the host
disturb a clock that does not count instructions; the best round of each
counts. Plain forwarding shows the gain by a second CPU that the emulator
leaves. Prints the time on one CPU by that on two, and the share of it that is
spent spinning, in per cent; writes scale-CONTESTANT.json, times in seconds.

CONTESTANT is a name of contestants.py, FAMILY is 4 or 6. BENCH_TOOLS names the
folder tools/bench with its programs, BENCH_RESULTS the folder for results. The
exit code is 1 when a work fails, and 2 when the command line is wrong.
"""

import shlex
import time

import bed
from contestants import CONTESTANTS
from paths import set_path
from peptest import service
from peptest.netns import addr, run
from works import SCALE, SCALE_PORT, WORKS

CPU1 = "/sys/devices/system/cpu/cpu1/online"
DATA = "/tmp/bench-scale.data"
SPINS = ("native_queued_spin_lock_slowpath", "__pv_queued_spin_lock_slowpath",
         "queued_write_lock_slowpath", "queued_read_lock_slowpath")


def online(cpus):
    """Bring one or two CPUs online."""
    with open(CPU1, "w", encoding="ascii") as file:
        file.write(str(cpus - 1))


def both(arguments, cpus, family, wrap=()):
    """Do a work by two clients at the same time, perhaps within another
    program; return the seconds."""
    kind, *rest = map(str, arguments)
    clients = [shlex.join(["taskset", "-c", str(cpu), bed.LOAD, kind,
                           addr("srv", family), str(port), *rest])
               for cpu, port in ((0, SCALE_PORT), (cpus - 1, SCALE_PORT + 1))]
    start = time.monotonic()
    run(*wrap, "sh", "-c", " & ".join(clients) + " && wait $!", ns="sub",
        seconds=bed.SECONDS)
    return time.monotonic() - start


def serve(cpus, family):
    """Start both servers."""
    for cpu, port in ((0, SCALE_PORT), (cpus - 1, SCALE_PORT + 1)):
        service.serve("srv", "taskset", "-c", str(cpu), bed.LOAD, "server",
                      addr("srv", family), str(port), "1")
    time.sleep(1)


def measure(work, size, family):
    """Seconds of a work by the number of CPUs, all rounds."""
    set_path(work.path)
    arguments, rounds = SCALE[size][work.name]
    seconds = {1: [], 2: []}
    for _ in range(rounds):
        for cpus, found in seconds.items():
            online(cpus)
            serve(cpus, family)
            both(work.short, cpus, family)
            found.append(both(arguments, cpus, family))
            service.end("taskset")
    return seconds


def spinning(work, size, family):
    """Share of the time of two CPUs spent waiting for a spinning lock, per
    cent of the samples that are not idle."""
    serve(2, family)
    both(SCALE[size][work.name][0], 2, family, wrap=(
        "perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", "500", "-o",
        DATA, "--"))
    service.end("taskset")
    text = run("perf", "script", "-i", DATA, "-F", "sym", "--kallsyms",
               "/proc/kallsyms", seconds=bed.SECONDS).stdout
    busy = [sym for sym in text.split() if not sym.endswith("_halt") and
            "idle" not in sym]
    return 100 * sum(sym in SPINS for sym in busy) / max(len(busy), 1)


def main():
    """Measure plain forwarding and the contestant; print the result."""
    contestant, size, family = bed.arguments(__doc__, CONTESTANTS)
    bed.up(family)
    runs = {}
    for name in SCALE[size]:
        work = WORKS[name]
        for who in dict.fromkeys(("forward", contestant)):
            with CONTESTANTS[who]():
                seconds = measure(work, size, family)
                found = {"seconds": seconds,
                         "ratio": min(seconds[1]) / min(seconds[2]),
                         "spinning": spinning(work, size, family)}
            runs.setdefault(name, {})[who] = found
            print(f"  {who}: {work.title}: two CPUs {found['ratio']:.2f} x, "
                  f"{found['spinning']:.1f} % spinning", flush=True)
    bed.down()
    bed.result("scale", contestant, size=size, family=family, runs=runs)


if __name__ == "__main__":
    main()
