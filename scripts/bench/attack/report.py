#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make attack.json and attack.md out of what guests measured.

usage: report.py FOLDER COMMAND RESULTS

Figures are shares in per cent, MiB, and instructions per packet.

FOLDER is that of the report, COMMAND the one that has measured, RESULTS the
folder with the guests' files. The exit code is 1 when a result is missing or
wrong, and 2 when the command line is wrong.
"""

import json
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent),
                str(HERE.parents[2] / "selftests")]

# pylint: disable=wrong-import-position
import results as res  # noqa: E402
from attacks import ATTACKS  # noqa: E402
from honest import EVERY, PATIENCE, SIZE  # noqa: E402
from results import ReportError  # noqa: E402

LEAST = 0.95            # share of honest goodput and objects that is kept
LOST = 0.02             # share that pep may lose more than forwarding
CONTESTANTS = "forward", "pep"
TITLES = {"none": "no attack", "none-early": "no attack, connect early"}

INTRO = """# Honest subscribers beside attackers

{sentence}
Four downloads and an object of {size} KB each {every} ms, half of all over
IPv6, over a link of 20 Mbit/s and 40 ms, while an attacker behind another
device of the gateway does his worst for {seconds:g} s of simulated time, or so
many seconds as are said. The limits are those by default of a guest with
2 GiB; one kernel holds all hosts, so TCP may have four times the memory by
default.

- goodput, objects: what honest subscribers get as a share of what they get
  without the attack, by plain forwarding and by pep. An object that takes
  longer than {patience} s is none.
- p95: of the time to the last byte of an object, s.
- memory: that the whole guest lost at most, MiB; with forwarding it is that of
  both ends.
- instructions per packet: all that comes of it on all hosts, with plain
  forwarding, and what pep adds; measured on Debian's kernel, whose clock
  counts instructions then.
- connections / flows: of the module at the end of the attack, and what is left
  of both 161 s later.

A share is kept when it is {least:.0%} or more, or not {lost:.0%} below that of
plain forwarding.
"""


def title(name):
    """An attack in words."""
    return TITLES.get(name) or ATTACKS[name].title


def calm(name):
    """The name of the run that an attack is compared with."""
    early = name in ATTACKS and ATTACKS[name].settings
    return "none-early" if early else "none"


def shares(runs, name):
    """The shares of goodput and objects that are left, by contestant."""
    found = {}
    for who in CONTESTANTS:
        run, base = runs[who][name], runs[who][calm(name)]
        found[who] = (run["bytes"] / run["seconds"] /
                      (base["bytes"] / base["seconds"]),
                      run["done"] / run["asked"] * base["asked"] /
                      base["done"])
    return found


def kept(share):
    """Is a share of honest subscribers kept?"""
    return all(pep >= min(LEAST, forward - LOST)
               for pep, forward in zip(share["pep"], share["forward"]))


def percentile(run, part):
    """A percentile of the times of objects, as text."""
    times = run["times"]
    return f"{times[int(part * (len(times) - 1))]:.2f}" if times else "-"


def pairs(runs, name, form):
    """Both contestants' figures of an attack."""
    return " / ".join(form(runs[who][name]) for who in CONTESTANTS)


def state(found):
    """Connections and flows as text."""
    return f"{found['followed']} / {found['flows']}"


def row(runs, costs, name):
    """A line of the table."""
    run = runs["pep"][name]
    longer = f" in {run['seconds']:g} s"
    if run["seconds"] == runs["pep"]["none"]["seconds"]:
        longer = ""
    cells = [title(name), f"{run['count']} {run['unit']}{longer}"
             if run["count"] else "-"]
    if name in TITLES:
        cells += [pairs(runs, name, lambda r: f"{r['bytes'] / 1e6:.1f} MB"),
                  pairs(runs, name, lambda r: f"{r['done']} of {r['asked']}")]
    else:
        share = shares(runs, name)
        cells += [" / ".join(f"{share[who][at]:.0%}" for who in CONTESTANTS)
                  for at in (0, 1)]
    cells += [pairs(runs, name, lambda r: percentile(r, .95)),
              pairs(runs, name, lambda r: f"{r['kib'] / 1024:.0f}")]
    if name in costs["pep"]:
        forward, pep = (costs[who][name]["instructions"]
                        for who in CONTESTANTS)
        cells.append(f"{forward:.0f} / {pep - forward:+.0f}")
    else:
        cells.append("-")
    cells += [state(run["state"]), state(run["left"]),
              "-" if name in TITLES else "yes" if kept(share) else "**no**"]
    return "| " + " | ".join(cells) + " |"


def table(runs, costs):
    """The table, as lines of Markdown."""
    yield ("| attack | sent | goodput, forwarding / pep | objects | p95, s | "
           "memory, MiB | instructions, forwarding / pep adds | "
           "connections / flows | left | kept |")
    yield "|---" * 10 + "|"
    for name in runs["pep"]:
        yield row(runs, costs, name)


def read(source):
    """Runs by contestant and attack, and costs by contestant and attack."""
    runs, costs = {}, {}
    for who in CONTESTANTS:
        path = pathlib.Path(source) / f"attack-{who}.jsonl"
        lines = path.read_text("utf-8").splitlines()
        runs[who] = {run["attack"]: run for run in map(json.loads, lines)}
        path = pathlib.Path(source) / f"attack-cost-{who}.json"
        costs[who] = json.loads(path.read_text("utf-8"))
    if runs["forward"].keys() != runs["pep"].keys():
        raise ReportError("attacks without a result")
    return runs, costs


def report(folder, command, source):
    """Write the report of the results in a folder into another one."""
    runs, costs = read(source)
    meta = res.about({"kernel": runs["pep"]["none"]["kernel"],
                      "family": "4 and IPv6"}, command)
    intro = INTRO.format(
        sentence=res.sentence(meta), size=SIZE // 1000, least=LEAST, lost=LOST,
        every=int(EVERY * 1000), patience=PATIENCE,
        seconds=runs["pep"]["none"]["seconds"])
    res.write(folder, "attack", {**meta, "runs": runs, "costs": costs},
              "\n".join([intro, *table(runs, costs)]) + "\n")


if __name__ == "__main__":
    res.program(__doc__, report)
