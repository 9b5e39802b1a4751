#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The named sets of cells: tasks over links by contestants.

usage: sets.py SET [FILTER...]

A FILTER selects some of a set's cells: link=NAME,.. or work=NAME,.. or
by=CONTESTANT,... The program checks a choice; a wrong one causes exit code 2
and a line on standard error.
"""

import dataclasses
import itertools
import pathlib
import sys

from links import LINKS
from tasks import TASKS

CONTESTANTS = {
    "cubic": "no proxy, CUBIC server",
    "bbr": "no proxy, BBR server",
    "haproxy": "HAProxy, BBR on both sides",
    "pep": "pep",
    "early": "pep, connect early",
    "pair": "pep at both ends of the link",
    "pair-early": "pep at both ends, connect early at the terminal",
}
MAIN = "cubic", "bbr", "haproxy", "pep"
ALL = tuple(CONTESTANTS)

SIZES = tuple(f"object-{size}-{state}" for size in ("8k", "30k", "100k", "1m")
              for state in ("cold", "warm"))
PAGES = "page-cold", "page-warm"
BASIC = (*SIZES, *PAGES, "long", "upload-2m")
CROWD = tuple(task for task in TASKS if task.startswith("parallel-"))
BESIDE = tuple(task for task in TASKS if task.startswith("beside-"))


@dataclasses.dataclass(frozen=True)
class Set:
    """Cells, and how often a cell is run: repeats times, up to most times
    when its spread is too wide."""

    cells: tuple
    repeats: int
    most: int


def _cells(links, tasks, who):
    """Every combination."""
    return tuple(itertools.product(links, tasks, who))


def _group(*names):
    """The names of the links of some groups."""
    return tuple(link.name for link in LINKS.values() if link.group in names)


def _quick():
    """The links of the first look that the laboratory grew out of."""
    return _cells(("g60-l0", "g60-l1", "g600-l0.1", "edge-lossy"),
                  ("object-8k-cold", "object-30k-cold", "object-100k-cold",
                   "object-1m-cold", "object-100k-warm", "page-cold", "long",
                   "upload-2m"), ("cubic", "haproxy", "pep"))


def _standard():
    """Every dimension once around 60 ms and 20 Mbit/s, round trip and loss
    in all combinations."""
    grid, phones = _group("grid"), _group("window")
    shown = "g60-l1", "g600-l0.1"
    yield from _cells(grid, BASIC, MAIN)
    yield from _cells(shown, BASIC, ("early", "pair"))
    yield from _cells(grid, ("upload-2m",), ("pair",))
    yield from _cells(shown, ("object-8k-cold", "object-30k-cold",
                              "page-cold", "upload-2m"), ("pair-early",))
    yield from _cells(("g60-l0", *shown), (*CROWD, "kept"), MAIN)
    yield from _cells(phones, (*SIZES, *PAGES, "long"), MAIN)
    yield from _cells(_group("rate", "edge", "server"),
                      ("object-30k-cold", "object-100k-cold",
                       "object-1m-cold", "object-1m-warm", "page-cold",
                       "long", "upload-2m"), MAIN)
    yield from _cells(("rate-200", "handover", "radio", "g60-l1"),
                      ("object-20m-cold",), MAIN)
    yield from _cells(_group("queue"), ("object-100k-cold", "object-1m-cold",
                                        "long"), MAIN)
    yield from _cells(_group("radio"), ("object-100k-cold", "object-1m-cold",
                                        "page-cold", "long"), MAIN)
    yield from _cells(_group("uplink"), ("object-100k-cold", "page-cold",
                                         "long", "both"), MAIN)
    yield from _cells(("g60-l1", "g60-l0"), ("both",), (*MAIN, "pair"))
    yield from _cells(("v6",), ("object-30k-cold", "object-1m-cold", "long",
                                "upload-2m"), MAIN)
    yield from _cells(("fair",), BESIDE, MAIN)


def _full():
    """Every link with every task and contestant: days."""
    return _cells(LINKS, TASKS, ALL)


SETS = {
    "quick": Set(_quick(), 1, 2),
    "standard": Set(tuple(dict.fromkeys(_standard())), 2, 4),
    "full": Set(_full(), 3, 9),
}


def chosen(name, filters):
    """A set with the cells that filters leave; raises ValueError."""
    if name not in SETS:
        raise ValueError(f"no such set: {name} ({', '.join(SETS)})")
    found = SETS[name]
    places = {"link": 0, "work": 1, "by": 2}
    for text in filters:
        key, _, names = text.partition("=")
        if key not in places:
            raise ValueError(f"no such filter: {text}")
        place = places[key]
        known = {cell[place] for cell in found.cells}
        for one in names.split(","):
            if one not in known:
                raise ValueError(f"the set {name} has no {key} {one}: "
                                 f"{' '.join(sorted(known))}")
        found = dataclasses.replace(found, cells=tuple(
            cell for cell in found.cells if cell[place] in names.split(",")))
    return found


if __name__ == "__main__":
    sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
    from commandline import arguments, refuse
    set_name, *wanted = arguments(__doc__, 1)
    try:
        chosen(set_name, wanted)
    except ValueError as error:
        refuse(__doc__, str(error))
