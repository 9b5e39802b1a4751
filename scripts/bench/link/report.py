#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make the report of bench link out of what the guests measured.

usage: report.py FOLDER LINK.JSONL
       report.py --json LINK.JSONL

Writes link.md, link.html, link-time.svg, link-loss.svg and link-queue.svg into
the folder and prints the page in plain words, or prints the statistics as one
JSON object. Figures have their units: s, ms, Mbit/s, shares. The exit code is
1 when the file is not whole, and 2 when the command line is wrong.
"""

import dataclasses
import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
# pylint: disable=wrong-import-position
import sections  # noqa: E402
import words  # noqa: E402
from blocks import Plot, markdown  # noqa: E402
from commandline import arguments  # noqa: E402
from table import OWN, ReportError, read  # noqa: E402
from targets import judged  # noqa: E402


def write(folder, table):
    """Write all files of the report into a folder; print its main part."""
    # Both import matplotlib, which --json can do without.
    from page import page
    from story import blocks
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    parts = list(blocks(table))
    for part in parts:
        if isinstance(part, Plot) and part.file:
            (folder / part.file).write_text(part.svg, "utf-8")
    (folder / "link.md").write_text(markdown(parts), "utf-8")
    (folder / "link.html").write_text(page(parts), "utf-8")
    print(markdown([*words.blocks(table), *sections.targets(table)]))


def raw_cell(table, cell):
    """A cell for JSON."""
    key = cell.link, cell.work, cell.contestant
    stats = {name: cell.stat(name) for name in cell.samples}
    return {"link": cell.link, "work": cell.work,
            "contestant": cell.contestant,
            "metrics": {name: dataclasses.asdict(stat)
                        for name, stat in stats.items() if stat},
            "primary": table.works[cell.work]["metric"],
            "wide": table.wide(*key), "gain": table.gain(*key),
            "over_floor": table.over_floor(*key)}


def raw(table):
    """Everything for JSON."""
    return {"about": table.about, "contestants": table.contestants,
            "links": table.links, "works": table.works,
            "floors": table.floors,
            "cells": [raw_cell(table, cell)
                      for cell in table.cells.values()],
            "factors": [dict(zip(("link", "work", "gain"), cell))
                        for cell in table.pairs(OWN)],
            "targets": [verdict.raw() for verdict in judged(table)]}


def main():
    """Write the report, or print it as JSON."""
    folder, path = arguments(__doc__, 2, 2, ("--json",))
    try:
        table = read(path)
        if folder == "--json":
            print(json.dumps(raw(table), indent=1))
        else:
            write(folder, table)
    except (ReportError, KeyError, ValueError) as error:
        sys.exit(f"report failed: {error}")


if __name__ == "__main__":
    main()
