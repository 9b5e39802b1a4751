# SPDX-License-Identifier: GPL-2.0
"""The look of all plots, and their way to a small SVG that does not change
from one run to the next."""

import io
import re

import matplotlib
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

# Of Okabe and Ito: the colour-blind can distinguish them.
COLOURS = {"cubic": "#000000", "bbr": "#e69f00", "haproxy": "#009e73",
           "pep": "#0072b2", "early": "#56b4e9", "pair": "#cc79a7",
           "pair-early": "#d55e00"}
MARKS = {"cubic": "o", "bbr": "s", "haproxy": "^", "pep": "D", "early": "v",
         "pair": "P", "pair-early": "X"}
FLOOR = "#999999"
GRID = "#dddddd"
DPI = 72            # a point of SVG is a point of the page
NUMBER = re.compile(r"-?\d+\.\d{3,}")

matplotlib.rcParams.update({
    "svg.fonttype": "none", "font.size": 10, "axes.titlesize": 10,
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana", "Arial"],
    "axes.spines.top": False, "axes.spines.right": False,
    "axes.edgecolor": "#555555", "axes.grid": True, "grid.color": GRID,
    "grid.linewidth": 0.6, "axes.axisbelow": True, "lines.linewidth": 1.6,
    "lines.markersize": 4.5, "legend.frameon": False,
    "savefig.facecolor": "white", "figure.facecolor": "white"})


def panels(width, height, rows=1, columns=1, place=None, **options):
    """A figure of so many points and its panels, a list of rows. Without
    a place (left, bottom, right, top) the labels decide where they are."""
    figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI,
                    layout=None if place else "constrained")
    if place:
        figure.subplots_adjust(*place)
    FigureCanvasSVG(figure)
    return figure, figure.subplots(rows, columns, squeeze=False, **options)


def style(contestant):
    """The style of a contestant's line, the same in every plot; pep's is
    broad and below the others, so that none hides another."""
    return {"color": COLOURS.get(contestant, "#882255"),
            "marker": MARKS.get(contestant, "x"), "clip_on": False,
            "zorder": 2.5 if contestant == "pep" else 3,
            "linewidth": 3.2 if contestant == "pep" else 1.3}


def plain(axis, ticks, labels):
    """Ticks with these labels alone on an axis."""
    axis.set_ticks(ticks, labels=labels)
    axis.set_minor_locator(NullLocator())


def decimals(axis):
    """Label a logarithmic axis with 1, 2 and 5 of each power of ten."""
    axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axis.set_minor_locator(NullLocator())


def legend(figure, all_axes, columns):
    """One legend below all panels, each label once."""
    found = {}
    for axes in all_axes:
        for handle, label in zip(*axes.get_legend_handles_labels()):
            found.setdefault(label, handle)
    if found:
        figure.legend(found.values(), found.keys(), ncol=columns,
                      loc="outside lower center"
                      if matplotlib.__version_info__ >= (3, 7)
                      else "lower center", fontsize=9)


def without_unused(text):
    """Drop the ids that nothing refers to."""
    used = set(re.findall(r"#([\w-]+)", text))
    return re.sub(r' id="([^"]*)"', lambda match: match.group(0)
                  if match.group(1) in used else "", text)


def rounded(text):
    """Round the numbers in attributes to tenths of a point."""
    return re.sub(r'(?<==")[^"]*(?=")', lambda match: NUMBER.sub(
        lambda number: f"{float(number.group(0)):.1f}", match.group(0)), text)


def svg(figure, name):
    """The figure as the text of an <svg>; the name seeds the ids in it."""
    with matplotlib.rc_context({"svg.hashsalt": name}):
        out = io.StringIO()
        figure.savefig(out, format="svg", metadata={"Date": None})
    text = out.getvalue()
    text = text[text.index("<svg"):]
    text = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", text,
                  flags=re.DOTALL)
    text = re.sub(r'(width|height)="([\d.]+)pt"', r'\1="\2"', text)
    text = rounded(without_unused(text))
    text = re.sub(r"(?<=\d) ?\n(?=[LQCMz])", " ", text)
    return re.sub(r"\n\s*", "\n", text).strip() + "\n"
