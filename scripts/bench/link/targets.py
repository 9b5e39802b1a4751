# SPDX-License-Identifier: GPL-2.0
"""The figures that pep is to reach on links."""

import dataclasses
import typing

from figures import factor, show
from table import OWN


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound for one figure of pep.

    figure picks the number:
      floor  the cell as a multiple of its floor
      gain   the worst factor over no proxy, of all cells
      else   the median of the metric of that name
    """

    link: typing.Optional[str]
    work: typing.Optional[str]
    figure: str
    most: typing.Optional[float] = None
    least: typing.Optional[float] = None
    unit: str = ""

    def text(self):
        """The bound as the table shows it."""
        bound = f"<= {self.most:g}" if self.least is None else \
            f">= {self.least:g}"
        return {"floor": f"{bound} x floor",
                "gain": f"factor {bound}, every cell",
                "jain": f"Jain's index {bound}",
                "ping_p50": f"ping {bound} {self.unit}"}.get(
                    self.figure, f"{bound} {self.unit}".rstrip())

    def met(self, value):
        """Is the bound kept?"""
        return value >= self.least if self.most is None else \
            value <= self.most

    def missed_by(self, value):
        """How far a value is beyond the bound, as a share of the bound."""
        bound = self.least if self.most is None else self.most
        return 0 if self.met(value) else abs(value - bound) / bound

    def shown(self, value):
        """A value as the table shows it."""
        if self.figure == "gain":
            return factor(value)
        if self.figure == "floor":
            return f"{value:.2f} x floor"
        return show(value, self.unit)


TARGETS = (
    Target("phone-60-l1", "object-30k-warm", "floor", most=1.15),
    Target("phone-60-l1", "object-100k-warm", "floor", most=1.15),
    Target("phone-60-l1", "object-1m-warm", "floor", most=1.15),
    Target("g60-l0", "object-100k-warm", "floor", most=1.15),
    Target("g60-l0", "object-1m-warm", "floor", most=1.15),
    Target("phone-600-l0.1", "object-30k-warm", "floor", most=1.2),
    Target("phone-600-l0.1", "object-100k-warm", "floor", most=1.2),
    Target("phone-600-l0.1", "object-1m-warm", "floor", most=1.2),
    Target("phone-60-l1", "page-warm", "floor", most=1.2),
    Target("phone-600-l0.1", "page-warm", "floor", most=1.2),
    Target("phone-60-l1", "long", "goodput", least=18.3, unit="Mbit/s"),
    Target("phone-600-l0.1", "long", "goodput", least=17, unit="Mbit/s"),
    Target("fair", "beside-cubic", "jain", least=0.85),
    Target("deep", "long", "ping_p50", most=58, unit="ms"),
    Target(None, None, "gain", least=0.98),
)


@dataclasses.dataclass(frozen=True)
class Verdict:
    """A target with the measured value, which is None without any."""

    target: Target
    value: typing.Optional[float]
    note: str = ""

    @property
    def met(self):
        """Is the target met? None when nothing was measured."""
        return None if self.value is None else self.target.met(self.value)

    def text(self):
        """The verdict as the table shows it."""
        if self.met is None:
            return "not measured"
        missed = self.target.missed_by(self.value)
        return "met" if self.met else f"missed by {100 * missed:.1f} %"

    def raw(self):
        """The verdict for JSON."""
        return {"link": self.target.link, "work": self.target.work,
                "figure": self.target.figure, "target": self.target.text(),
                "value": self.value, "met": self.met,
                "missed_by": None if self.value is None else
                self.target.missed_by(self.value), "note": self.note}


def worst(table, target):
    """The verdict on the worst factor over no proxy."""
    cells = sorted(table.pairs(), key=lambda cell: cell[2])
    if not cells:
        return Verdict(target, None)
    below = [cell for cell in cells if not target.met(cell[2])]
    link, work, gain = cells[0]
    note = f"{len(below)} of {len(cells)} cells below; worst: {work} on {link}"
    return Verdict(target, gain, note)


def judge(table, target):
    """The verdict on one target."""
    if target.figure == "gain":
        return worst(table, target)
    if target.work not in table.works:
        return Verdict(target, None)
    where = target.link, target.work, OWN
    value = table.over_floor(*where) if target.figure == "floor" else \
        table.median(*where, target.figure)
    wide = value is not None and table.wide(*where)
    return Verdict(target, value, "wide ~" if wide else "")


def judged(table):
    """The verdicts on all targets."""
    return [judge(table, target) for target in TARGETS]
