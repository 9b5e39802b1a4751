# SPDX-License-Identifier: GPL-2.0
"""The results of the guests: cells, their statistics and factors."""

import dataclasses
import json
import math
import statistics
import typing

from figures import METRICS

BASE = "cubic"      # the contestant that factors compare with
OWN = "pep"         # the contestant that the report is about
RIVAL = "haproxy"   # the other proxy in pep's place
FEW = 8             # samples from which on quartiles mean something
# Student's t of 95 % for 2, 3, ... samples.
STUDENT = (12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.2)
SAME = 0.02         # two medians that differ by less count as equal


class ReportError(Exception):
    """A file that is missing or broken."""


@dataclasses.dataclass(frozen=True)
class Stat:
    """Statistics of the samples of one metric.

    spread is the half of the 95 % confidence interval of the median over the
    median, as for normal samples: Student's t times 1.253 standard errors. The
    standard deviation is that of the samples, from eight of them on the one
    derived from the interquartile range. None for a single sample or a median
    of 0.
    """

    n: int
    median: float
    p95: float
    spread: typing.Optional[float]


def quantile(ordered, share):
    """A quantile of ordered samples, interpolated between two of them."""
    place = share * (len(ordered) - 1)
    low = math.floor(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)


def statistic(samples):
    """The statistics of samples; None without a sample."""
    if not samples:
        return None
    ordered = sorted(samples)
    median = statistics.median(ordered)
    spread = half_interval(ordered) / median \
        if len(ordered) > 1 and median > 0 else None
    return Stat(len(ordered), median, quantile(ordered, 0.95), spread)


def half_interval(ordered):
    """Half of the confidence interval of the median of ordered samples."""
    count = len(ordered)
    deviation = statistics.stdev(ordered) if count < FEW else (
        quantile(ordered, 0.75) - quantile(ordered, 0.25)) / 1.349
    student = STUDENT[min(count, len(STUDENT) + 1) - 2]
    return student * 1.253 * deviation / math.sqrt(count)


class Cell:
    """All repeats of one work on one link by one contestant."""

    def __init__(self, link, work, contestant):
        """A cell without samples."""
        self.link, self.work, self.contestant = link, work, contestant
        self.samples = {}
        self._stats = {}

    def add(self, samples):
        """Add the samples of one repeat."""
        for name, values in samples.items():
            good = [value for value in values
                    if value is not None and math.isfinite(value)]
            self.samples.setdefault(name, []).extend(good)
            self._stats.pop(name, None)

    def stat(self, name):
        """The statistics of a metric; None when it has no sample."""
        if name not in self._stats:
            self._stats[name] = statistic(self.samples.get(name, []))
        return self._stats[name]


def ratio(base, own, better):
    """The factor of one median over another, above 1 when better."""
    if base is None or own is None:
        return None
    above, below = (own, base) if better == "more" else (base, own)
    return above / below if below > 0 else None


class Table:
    """The header of a file, its cells and its time lines."""

    def __init__(self, header):
        """A table without cells."""
        self.header = header
        self.about = header["about"]
        self.links, self.works = header["links"], header["works"]
        self.contestants = header["contestants"]
        self.floors = header.get("floors", {})
        self.cells, self.timelines, self.failures = {}, [], []

    def add(self, line):
        """Add one line of the file."""
        if "timeline" in line:
            self.timelines.append(line["timeline"])
            return
        key = line["link"], line["work"], line["contestant"]
        for name, known in zip(key, (self.links, self.works,
                                     self.contestants)):
            if name not in known:
                raise ReportError(f"the header does not list {name}")
        if "error" in line:
            self.failures.append((*key, line["error"]))
            return
        self.cells.setdefault(key, Cell(*key)).add(line["samples"])

    def stat(self, link, work, contestant, name=None):
        """The statistics of a metric, or of the work's primary metric."""
        cell = self.cells.get((link, work, contestant))
        if cell is None:
            return None
        return cell.stat(name or self.works[work]["metric"])

    def median(self, link, work, contestant, name=None):
        """The median of the same; None when it was not measured."""
        stat = self.stat(link, work, contestant, name)
        return stat.median if stat else None

    def wide(self, link, work, contestant):
        """Does the primary metric scatter more than the header allows?"""
        stat = self.stat(link, work, contestant)
        return bool(stat and stat.spread is not None and
                    stat.spread > self.header.get("wide", 0.1))

    def gain(self, link, work, contestant, base=BASE, name=None):
        """The factor over another contestant, above 1 when better."""
        better = METRICS[name].better if name else self.works[work]["better"]
        return ratio(self.median(link, work, base, name),
                     self.median(link, work, contestant, name), better)

    def floor(self, link, work):
        """The best that the link itself allows, in the unit of the work."""
        return self.floors.get(link, {}).get(work)

    def over_floor(self, link, work, contestant):
        """The cell as a multiple of its floor: 1 is the best there is."""
        gained = ratio(self.floor(link, work),
                       self.median(link, work, contestant),
                       self.works[work]["better"])
        return 1 / gained if gained else None

    def measured(self, link):
        """The works with a cell of any contestant on a link, in order."""
        return [work for work in self.works
                if any((link, work, who) in self.cells
                       for who in self.contestants)]

    def pairs(self, contestant=OWN, base=BASE):
        """Each link and work that both contestants have, and the factor."""
        for link in self.links:
            for work in self.works:
                gain = self.gain(link, work, contestant, base)
                if gain is not None:
                    yield link, work, gain


def read(path):
    """The table of a file."""
    table = None
    try:
        with open(path, encoding="utf-8") as file:
            for count, text in enumerate(file, 1):
                if not text.strip():
                    continue
                line = json.loads(text)
                if table:
                    table.add(line)
                else:
                    table = Table(line)
    except OSError as error:
        raise ReportError(f"{path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, ReportError) as error:
        raise ReportError(f"{path}:{count}: {error!r}") from error
    if not table:
        raise ReportError(f"{path} is empty")
    return table
