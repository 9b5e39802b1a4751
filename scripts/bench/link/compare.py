#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Which cells got better or worse from one link.jsonl to another?

usage: compare.py NEW.JSONL OLD.JSONL [--json]

Lists the cells whose primary metric changed by more than the larger spread of
both and by at least 2 %, worst first, each with its unit. The exit code is 0
either way, 1 when a file cannot be read, and 2 when the command line is wrong.
"""

import json
import math
import pathlib
import sys

# pylint: disable=wrong-import-position
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from commandline import arguments, refuse  # noqa: E402
from figures import percent, show  # noqa: E402
from table import SAME, ReportError, ratio, read  # noqa: E402

MOST = 20       # cells that one side lacks, listed at most


def change(new, old, key):
    """How a cell changed: a dictionary; None when one side lacks it."""
    stats = [table.stat(*key) if key[1] in table.works else None
             for table in (new, old)]
    if None in stats:
        return None
    work = new.works[key[1]]
    gain = ratio(stats[1].median, stats[0].median, work["better"])
    if gain is None:
        return None
    noise = max(SAME, math.hypot(*(stat.spread or 0 for stat in stats)))
    moved = abs(stats[0].median / stats[1].median - 1) \
        if stats[1].median else float("inf")
    return {"link": key[0], "work": key[1], "contestant": key[2],
            "metric": work["metric"], "unit": work["unit"],
            "new": stats[0].median, "old": stats[1].median,
            "factor": gain, "noise": noise,
            "verdict": "same" if moved < noise else
            "better" if gain > 1 else "worse"}


def compared(new, old):
    """The whole comparison: a dictionary."""
    both = [key for key in new.cells if key in old.cells]
    changes = [item for item in (change(new, old, key) for key in both)
               if item]
    moved = [item for item in changes if item["verdict"] != "same"]
    return {"new": new.about, "old": old.about, "compared": len(changes),
            "changed": sorted(moved, key=lambda item: item["factor"]),
            "only_new": [key for key in new.cells if key not in old.cells],
            "only_old": [key for key in old.cells if key not in new.cells]}


def origin(side, about):
    """The origin of one side, as a line."""
    return (f"{side}: `{about.get('command')}`, set {about.get('set')}, "
            f"seed {about.get('seed')}, kernel {about.get('kernel')}")


def row(item):
    """One changed cell as a row."""
    return [item["verdict"], f"{item['factor']:.2f}",
            show(item["old"], item["unit"]), show(item["new"], item["unit"]),
            f"± {percent(item['noise'])}", item["link"], item["work"],
            item["contestant"]]


def lines(result):
    """The comparison as lines of text."""
    yield origin("new", result["new"])
    yield origin("old", result["old"])
    counts = {verdict: sum(item["verdict"] == verdict
                           for item in result["changed"])
              for verdict in ("worse", "better")}
    yield (f"{result['compared']} cells compared: {counts['worse']} worse, "
           f"{counts['better']} better")
    rows = [row(item) for item in result["changed"]]
    if rows:
        rows.insert(0, ["", "factor", "old", "new", "spread", "link",
                        "work", "contestant"])
    widths = [max(map(len, column)) for column in zip(*rows)]
    for cells in rows:
        yield "  ".join(cell.ljust(width) for cell, width
                        in zip(cells, widths)).rstrip()
    for side in "new", "old":
        keys = result[f"only_{side}"]
        for key in keys[:MOST]:
            yield f"only in {side}: {' '.join(key)}"
        if len(keys) > MOST:
            yield f"only in {side}: {len(keys) - MOST} cells more"


def main():
    """Compare the files of the command line."""
    words = arguments(__doc__, 2, 3, ("--json",))
    as_json = "--json" in words
    words = [word for word in words if word != "--json"]
    if len(words) != 2:
        refuse(__doc__, "two files are wanted")
    try:
        result = compared(*map(read, words))
    except ReportError as error:
        sys.exit(f"compare failed: {error}")
    if as_json:
        print(json.dumps(result, indent=1))
    else:
        print(*lines(result), sep="\n")


if __name__ == "__main__":
    main()
