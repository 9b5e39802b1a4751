#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Is a report of bench link whole? Lists its faults and fails.

usage: check.py FOLDER

The faults are lines on standard error, and the exit code is 1 then; it is 2
when the command line is wrong.
"""

import html
import pathlib
import re
import sys

# pylint: disable=wrong-import-position
sys.path.append(str(pathlib.Path(__file__).resolve().parents[2] / "lib"))
from commandline import arguments  # noqa: E402
from table import ReportError, read  # noqa: E402

ABOUT = ("command", "set", "kernel", "host", "packages")
PLOTS = ("link-time.svg", "link-loss.svg")
REFERENCE = re.compile(r"""\b(?:src|href)\s*=\s*["']?([^"'\s>]*)|"""
                       r"""\burl\(\s*["']?([^"')\s]*)|"""
                       r"""@import\s+([^;]*)""", re.IGNORECASE)


def missing_cells(table):
    """Cells of the header that are missing or empty."""
    for key in table.header.get("cells", []):
        if tuple(key) not in table.cells:
            yield f"no cell {' '.join(key)}"
    for key, cell in table.cells.items():
        name = table.works[cell.work]["metric"]
        if not any(value > 0 for value in cell.samples.get(name, [])):
            yield f"cell {' '.join(key)} has no positive {name}"


def data_faults(table):
    """Errors of link.jsonl, as lines."""
    for key in ABOUT:
        if not table.about.get(key):
            yield f"nothing says with which {key}"
    if not table.cells:
        yield "link.jsonl holds no cell"
    yield from missing_cells(table)
    for failure in table.failures:
        yield "a run without a result: " + " ".join(failure)


def outside(text):
    """References of a page to targets outside itself."""
    for match in REFERENCE.finditer(text):
        where = next((group for group in match.groups() if group), "")
        if not where.startswith("#"):
            yield where or match.group(0)


def plot_faults(page, folder):
    """Plots that the page or the folder lacks, as lines."""
    figures = re.findall(r"<figure.*?</figure>", page, re.DOTALL)
    if not figures:
        yield "link.html has no plot"
    for count, figure in enumerate(figures, 1):
        if "<svg" not in figure or "</svg>" not in figure:
            yield f"link.html: plot {count} has no <svg>"
    for name in PLOTS:
        path = folder / name
        if not path.exists() or "</svg>" not in path.read_text("utf-8"):
            yield f"{name} is missing or no <svg>"


def text_faults(table, folder):
    """Errors of link.md and link.html, as lines."""
    for name, escape in (("link.md", str), ("link.html", html.escape)):
        path = folder / name
        if not path.exists():
            yield f"{name} is missing"
            continue
        text = path.read_text("utf-8")
        for link in table.links.values():
            if escape(link["title"]) not in text:
                yield f"{name} lacks the link {link['title']}"
        if name == "link.html":
            for where in dict.fromkeys(outside(text)):
                yield f"link.html refers to {where}"
            yield from plot_faults(text, folder)


def faults(folder):
    """Errors of the report, as lines."""
    try:
        table = read(folder / "link.jsonl")
    except ReportError as error:
        yield str(error)
        return
    yield from data_faults(table)
    yield from text_faults(table, folder)


def main():
    """Check the folder of the command line."""
    folder = pathlib.Path(*arguments(__doc__, 1, 1))
    found = list(faults(folder))
    print(*found, sep="\n", end="\n" if found else "", file=sys.stderr)
    sys.exit(1 if found else 0)


if __name__ == "__main__":
    main()
