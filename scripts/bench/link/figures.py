# SPDX-License-Identifier: GPL-2.0
"""The figures of the report: their names, units and how they are shown."""

import dataclasses
import math


@dataclasses.dataclass(frozen=True)
class Metric:
    """One figure of a run.

    better is "less" or "more"; scale turns the unit of the samples into
    the unit that is shown.
    """

    title: str
    unit: str
    better: str
    scale: float = 1


METRICS = {
    "ttfb": Metric("time to the first byte", "s", "less"),
    "ttlb": Metric("time to the last byte", "s", "less"),
    "goodput": Metric("goodput", "Mbit/s", "more"),
    "overhead": Metric("bytes on the wireless link per byte delivered", "",
                       "less"),
    "retrans": Metric("segments sent again", "%", "less", 100),
    "ping_p50": Metric("ping under load, median", "ms", "less"),
    "ping_p95": Metric("ping under load, 95th percentile", "ms", "less"),
    "second": Metric("30 KB for a second subscriber", "s", "less"),
    "own": Metric("30 KB for the same subscriber", "s", "less"),
    "residence_p50": Metric("residence in pep, median", "ms", "less"),
    "residence_p99": Metric("residence in pep, 99th percentile", "ms",
                            "less"),
    "jain": Metric("Jain's fairness index", "", "more"),
    "other": Metric("goodput of the flow beside", "Mbit/s", "more"),
    "up": Metric("goodput of the upload", "Mbit/s", "more"),
}


ENOUGH = 6          # samples from which on a 95th percentile is shown


def metric(name):
    """The metric of a name, also of one that is not listed."""
    return METRICS.get(name, Metric(name, "", "less"))


def number(value):
    """Three significant digits, at most four of them decimals."""
    if not value:
        return "0"
    places = 2 - math.floor(math.log10(abs(value)))
    return f"{value:.{min(max(places, 0), 4)}f}"


def show(value, unit=""):
    """A value with its unit, or a dash."""
    if value is None:
        return "-"
    return f"{number(value)} {unit}".rstrip()


def factor(value):
    """A factor: two decimals, one from ten, none from a hundred on."""
    if value is None:
        return "-"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2}f}"


def percent(share):
    """A share as per cent, with a decimal only when it is small."""
    return f"{100 * share:.{1 if share < 0.0995 else 0}f} %"


def measured(stat, name, unit=None, wide=False):
    """A statistic of a metric: median, unit, spread, the 95th percentile of
    times in brackets where there are samples enough, and the mark "~"."""
    if stat is None:
        return "-"
    kind = metric(name)
    text = show(stat.median * kind.scale, kind.unit if unit is None else unit)
    if stat.spread is not None:
        text += f" ± {percent(stat.spread)}"
    if kind.unit == "s" and stat.n >= ENOUGH:
        text += f" ({number(stat.p95 * kind.scale)})"
    return text + (" ~" if wide else "")
