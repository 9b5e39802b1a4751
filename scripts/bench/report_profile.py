#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make profile.json, profile.md and flame graphs out of sampled stacks.

usage: report_profile.py FOLDER COMMAND RESULTS

The graphs, one for each work, are of pep. Figures have the units of
works.py.

FOLDER is that of the report, COMMAND the one that has measured, RESULTS the
folder with the guests' files. The exit code is 1 when a result is missing or
wrong, and 2 when the command line is wrong.
"""

import collections
import pathlib

import results as res
import stacks
from classes import NAMES, PROGRAMS, classify
from flame import picture
from results import ORDER, TITLES, ReportError
from works import WORKS

TOP = 25            # symbols that are listed for a contestant and a work

INTRO = """# Where the instructions go

{sentence}
perf interrupts the guest's one CPU every 200,000 to 310,000 instructions. Each
sample counts for the function in which the CPU was; scripts/bench/classes.py
has the classes. The share of samples is taken of what the same work costs
without perf, both ends included. Plain forwarding is that in the boot of the
last column. What a function takes with interrupts off counts for the one that
turns them on again.
"""

COLOURS = dict(zip(NAMES, (
    "#e07b39", "#d9b44a", "#8c6bb1", "#6fa8dc", "#93c47d", "#c27ba0",
    "#b7b7b7", "#e06666", "#cfe2f3", "#eeeeee")))


def load(source, contestant, result):
    """Join a contestant's stacks with its costs: each work, by it and by plain
    forwarding, has its cost, samples, and stacks followed by instructions."""
    works = {}
    for name, costs_ in result["costs"].items():
        for who, cost in costs_.items():
            run = works.setdefault(name, {})[who] = {
                "cost": cost, "samples": 0, "stacks": []}
            prefix = source / f"{contestant}-{who}"
            symbols = stacks.Symbols(f"{prefix}-symbols")
            for number, period in enumerate(result["periods"]):
                found = stacks.read(f"{prefix}-{name}-{number}.data",
                                    symbols)
                run["samples"] += sum(found.values())
                run["stacks"] += [[*frames, count * period]
                                  for frames, count in found.items()]
    return works


def leaves(found_stacks):
    """Samples by the function they were in, "symbol object"."""
    found = collections.Counter()
    for *frames, count in found_stacks:
        found[frames[-1]] += count
    return found


def class_of(frame):
    """The class of a frame."""
    return classify(*frame.rsplit(" ", 1))


def costs(run):
    """Cost of each function in a run, in the work's unit, highest first."""
    found = leaves(run["stacks"])
    samples = sum(found.values())
    if not samples:
        raise ReportError("no samples")
    return {frame: run["cost"] * count / samples
            for frame, count in found.most_common()}


def by_class(run):
    """Cost of each class in a run, in the work's unit."""
    found = dict.fromkeys(NAMES, 0.0)
    for frame, cost in costs(run).items():
        found[class_of(frame)] += cost
    return found


def table_classes(work, runs):
    """Cost and share of each class for each contestant, as lines."""
    yield f"| {work.unit} | " + " | ".join(TITLES[who] for who in runs) + " |"
    yield "|" + "---|" * (1 + len(runs))
    classes = {who: by_class(run) for who, run in runs.items()}
    for name in NAMES:
        row = [f"{classes[who][name]:.3f} "
               f"({100 * classes[who][name] / runs[who]['cost']:.1f} %)"
               for who in runs]
        yield f"| {name} | " + " | ".join(row) + " |"
    yield "| all | " + " | ".join(f"{run['cost']:.3f}"
                                  for run in runs.values()) + " |"


def table_symbols(work, base, run):
    """The functions that cost most above plain forwarding, as lines."""
    before, after = costs(base), costs(run)
    more = {frame: cost - before.get(frame, 0)
            for frame, cost in after.items()}
    yield f"| function | class | {work.unit} | above forwarding |"
    yield "|---|---|---|---|"
    for frame in sorted(more, key=more.get, reverse=True)[:TOP]:
        yield (f"| `{frame}` | {class_of(frame)} | {after[frame]:.4f} | "
               f"{more[frame]:+.4f} |")


def merged(results, name):
    """Runs of a work by contestant, forwarding of the last boot first."""
    there = [who for who in ORDER if who in results]
    runs = {}
    for who in there or ["forward"]:
        found = results[who]["works"][name]
        runs["forward"] = found["forward"]
        runs[who] = found[who]
    return runs


def sections(results, names):
    """The text about each work, as lines."""
    for name in names:
        work, runs = WORKS[name], merged(results, name)
        yield f"\n## {work.title}\n"
        yield from table_classes(work, runs)
        for who in runs:
            if who != "forward":
                yield f"\n### {TITLES[who]}: what it adds most\n"
                base = results[who]["works"][name]["forward"]
                yield from table_symbols(work, base, runs[who])
        if "pep" in runs:
            yield f"\n![flame graph](profile-{name}.svg)"


def graphs(folder, results, names):
    """Write pep's flame graphs."""
    for name in names if "pep" in results else ():
        run = results["pep"]["works"][name]["pep"]
        title = f"pep: {WORKS[name].title}"
        text = picture(title, run["stacks"], colour)
        (pathlib.Path(folder) / f"profile-{name}.svg").write_text(
            text, "utf-8")


def colour(frame):
    """The colour of a frame; a program's name has no object."""
    return COLOURS[class_of(frame) if " " in frame else PROGRAMS]


def raw(results):
    """The contents of profile.json: costs instead of stacks."""
    return {contestant: {
        name: {who: {"cost": run["cost"], "classes": by_class(run),
                     "samples": run["samples"],
                     "functions": dict(list(costs(run).items())[:4 * TOP])}
               for who, run in runs.items()}
        for name, runs in result["works"].items()}
        for contestant, result in results.items()}


def report(folder, command, source):
    """Write the report of the results in a folder into another one."""
    source = pathlib.Path(source)
    results = res.read(source, "profile")
    for contestant, result in results.items():
        result["works"] = load(source, contestant, result)
    if not results:
        raise ReportError("no result")
    first = next(iter(results.values()))
    meta = res.about(first, command)
    names = list(first["works"])
    text = INTRO.format(sentence=res.sentence(meta))
    res.write(folder, "profile", {**meta, "profiles": raw(results)},
              "\n".join([text, *sections(results, names)]) + "\n")
    graphs(folder, results, names)


if __name__ == "__main__":
    res.program(__doc__, report)
