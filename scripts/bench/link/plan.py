#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Which runs of a set there are to do, and which come next.

usage: plan.py next FOLDER SET SEED [FILTER...]
       plan.py gather FOLDER COMMAND KERNEL SET SEED [FILTER...]

A run does all cells of a link once, in one guest. FOLDER keeps a file for each
run, so that an interrupted bench goes on where it stopped. next claims a run,
writes its job and prints the name of that file; it prints "wait" while running
jobs may make more necessary, and nothing when all is done; it fails when a
file "failed" is there. When every planned run of a link is there, the cells of
too wide a spread are run again, up to the set's bound. gather writes
link.jsonl. SET and FILTER are those of sets.py. The exit code is 1 when a run
has failed or is missing, and 2 when the command line is wrong.
"""

import collections
import fcntl
import json
import os
import pathlib
import platform
import sys

from links import LINKS
from sets import CONTESTANTS, chosen
from table import statistic
from tasks import TASKS

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
# pylint: disable=wrong-import-position
import results as res  # noqa: E402
from commandline import arguments, one_of, refuse  # noqa: E402

PACKAGES = "haproxy", "iproute2", "gcc", "linux-source-6.12"
WIDE = 0.1              # spread of a median above which a cell is run again
TIMELINES = {"g60-l1": ["object-1m-warm"], "phone-600-l0.1":
             ["object-1m-warm"], "g600-l0.1": ["object-100k-cold"]}
# Simulated s of a long transfer, with the time before and after it.
LASTS = {"long": 20, "both": 15, "beside": 42}


class Plan:
    """The runs of a set in a folder."""

    def __init__(self, folder, name, seed, *filters):
        self.set = chosen(name, filters)
        self.name = name
        self.seed = int(seed)
        self.folder = pathlib.Path(folder)
        self.cells = collections.defaultdict(list)
        for link, task, who in self.set.cells:
            self.cells[link].append((task, who))

    def path(self, link, repeat, suffix):
        """The file of a run."""
        return self.folder / f"{link}.{repeat}.{suffix}"

    def done(self, link, repeat):
        """Has a run been done?"""
        return self.path(link, repeat, "jsonl").exists()

    def claimed(self, link, repeat):
        """Has a run been claimed?"""
        return self.path(link, repeat, "claim").exists()

    def open(self):
        """Runs that were planned from the beginning and not claimed, the
        longest first."""
        runs = [(link, repeat) for repeat in range(self.set.repeats)
                for link in self.cells if not self.done(link, repeat)
                and not self.claimed(link, repeat)]
        return sorted(runs, key=lambda run: -self.weight(run[0]))

    def weight(self, link, cells=None):
        """About how long a run takes: megabytes and connections."""
        total = 0.0
        for task, _ in cells or self.cells[link]:
            total += weight(LINKS[link], TASKS[task])
        return total

    def extra(self):
        """Links to run again: link, repeat and the cells that are too
        wide."""
        for link in self.cells:
            repeat = self.set.repeats
            while self.done(link, repeat):
                repeat += 1
            if repeat >= self.set.most or self.claimed(link, repeat) or \
                    not all(map(lambda n, link=link: self.done(link, n),
                                range(self.set.repeats))):
                continue
            cells = self.wide(link, repeat)
            if cells:
                yield link, repeat, cells

    def wide(self, link, repeats):
        """Cells of a link to be run again after so many runs: all contestants
        of the works of which one's spread is too wide, with the same
        losses."""
        samples = collections.defaultdict(list)
        for repeat in range(repeats):
            for record in self.records(link, repeat):
                if "samples" in record:
                    metric = TASKS[record["work"]].metric
                    samples[record["work"], record["contestant"]] += \
                        record["samples"][metric]
        stats = {cell: statistic(found) for cell, found in samples.items()}
        works = {work for (work, _), stat in stats.items()
                 if stat and (stat.spread is None or stat.spread > WIDE)}
        return [cell for cell in self.cells[link] if cell[0] in works]

    def records(self, link, repeat):
        """The records of a run."""
        with open(self.path(link, repeat, "jsonl"), encoding="utf-8") as file:
            return [json.loads(line) for line in file]

    def claim(self, link, repeat, cells):
        """Write the job of a run; return its file."""
        first = not repeat
        job = {"link": link, "cells": cells, "repeat": repeat,
               "seed": self.seed + repeat, "floors": first,
               "timeline": TIMELINES.get(link, []) if first else []}
        path = self.path(link, repeat, "claim")
        path.write_text(json.dumps(job) + "\n", "utf-8")
        return path

    def next(self):
        """Claim a run; return its file, "wait" or nothing."""
        found = self.open()
        if found:
            link, repeat = found[0]
            return self.claim(link, repeat, self.cells[link])
        for link, repeat, cells in self.extra():
            return self.claim(link, repeat, cells)
        if (self.folder / "failed").exists():
            raise RuntimeError("another run has failed")
        busy = any(not path.with_suffix(".jsonl").exists()
                   for path in self.folder.glob("*.claim"))
        return "wait" if busy else ""

    def finished(self):
        """The claims of finished runs and the seconds that these took, all of
        this machine's CPUs at work."""
        found = [path for path in self.folder.glob("*.claim")
                 if path.with_suffix(".jsonl").exists()]
        took = sum(path.with_suffix(".jsonl").stat().st_mtime -
                   path.stat().st_mtime for path in found)
        return found, took / (os.cpu_count() or 1)

    def progress(self):
        """The progress, a line."""
        finished, took = self.finished()
        weights = sum(self.weight(job["link"], job["cells"]) for job in (
            json.loads(path.read_text("utf-8")) for path in finished))
        planned = [(link, repeat) for link in self.cells
                   for repeat in range(self.set.repeats)]
        done = [run for run in planned if self.done(*run)]
        left = sum(self.weight(link) for link, repeat in planned
                   if (link, repeat) not in done)
        text = f"{len(done)} of {len(planned)} runs"
        if len(finished) > len(done):
            text += f", {len(finished) - len(done)} more of wide cells"
        if weights and left:
            text += f", about {left * took / weights / 60:.0f} minutes left"
        return text


def weight(link, task):
    """About how long a task takes over a link, in any unit."""
    if task.kind in LASTS:
        return LASTS[task.kind] * min(link.rate, 40) / 8 / (
            2 if link.loss else 1)
    return task.samples * (0.2 + task.size * task.count / 1e6)


def header(plan, command, kernel, floors, minutes):
    """The first line of link.jsonl."""
    def public(link):
        """The properties of a link for the report."""
        return {"title": link.title, "group": link.group, "rtt": link.rtt,
                "jitter": link.jitter, "rate": link.rate, "uprate": link.up,
                "loss": link.loss, "queue": link.queue,
                "server": link.server, "window": link.window,
                "family": link.family}

    def task(found):
        """The properties of a task for the report."""
        return {"title": found.title, "kind": found.kind,
                "metric": found.metric, "unit": found.unit,
                "better": found.better, "size": found.size or None,
                "count": found.count, "state": found.state,
                "other": found.other}

    tasks = dict.fromkeys(name for _, name, _ in plan.set.cells)
    return {"about": {"command": command, "kernel": kernel,
                      "host": platform.platform(),
                      "packages": res.versions(PACKAGES),
                      "set": plan.name, "seed": plan.seed,
                      "minutes": round(minutes, 1)},
            "links": {name: public(LINKS[name]) for name in plan.cells},
            "works": {name: task(TASKS[name]) for name in tasks},
            "contestants": CONTESTANTS, "floors": floors, "wide": WIDE,
            "cells": plan.set.cells}


def gather(plan, command, kernel):
    """Write link.jsonl out of the runs; raises when one is missing."""
    missing = [link for link in plan.cells for repeat in range(
        plan.set.repeats) if not plan.done(link, repeat)]
    if missing:
        raise RuntimeError(f"no run of {missing[0]}")
    floors, lines, lines_after = {}, [], []
    for path in sorted(plan.folder.glob("*.[0-9].jsonl")):
        for line in path.read_text("utf-8").splitlines():
            record = json.loads(line)
            if "floors" in record:
                wanted = {task for task, _ in plan.cells[record["link"]]}
                floors[record["link"]] = {
                    name: value for name, value in record["floors"].items()
                    if name in wanted}
            elif "timeline" in record:
                lines_after.append(line)
            else:
                lines.append(line)
    head = header(plan, command, kernel, floors, plan.finished()[1] / 60)
    (plan.folder / "link.jsonl.new").write_text(
        "\n".join([json.dumps(head), *lines, *lines_after]) + "\n", "utf-8")
    os.rename(plan.folder / "link.jsonl.new", plan.folder / "link.jsonl")


def claimed(plan):
    """Claim a run, one process at a time, and show the progress."""
    with open(plan.folder / "lock", "w", encoding="ascii") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        job = plan.next()
        if job != "wait":
            print(f"  {plan.progress()}", file=sys.stderr)
        return job


def main():
    """Run the subcommand of the command line."""
    verb, folder, *rest = arguments(__doc__, 4)
    one_of(__doc__, "word", verb, ("next", "gather"))
    about, cells = ((), rest) if verb == "next" else (rest[:2], rest[2:])
    if len(cells) < 2:
        refuse(__doc__, "an argument is missing")
    try:
        plan = Plan(folder, *cells)
    except ValueError as error:
        refuse(__doc__, str(error))
    try:
        if verb == "next":
            print(claimed(plan))
        else:
            gather(plan, *about)
    except RuntimeError as err:
        print(f"plan.py: {err}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
