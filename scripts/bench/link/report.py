#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make the report of bench link out of what the guests measured.

usage: report.py FOLDER LINK.JSONL
       report.py --json LINK.JSONL

Writes link.md, link.html, link-time.svg, link-loss.svg and link-queue.svg into
the folder and prints the page in plain words, or prints the statistics as one
JSON object.
"""

import dataclasses
import json
import pathlib
import sys

import sections
import words
from blocks import Plot, markdown
from table import OWN, ReportError, read
from targets import judged


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
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        sys.exit(2)
    try:
        table = read(sys.argv[2])
        if sys.argv[1] == "--json":
            print(json.dumps(raw(table), indent=1))
        else:
            write(sys.argv[1], table)
    except (ReportError, KeyError, ValueError) as error:
        sys.exit(f"report failed: {error}")


if __name__ == "__main__":
    main()
