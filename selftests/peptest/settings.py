# SPDX-License-Identifier: GPL-2.0
"""The settings of a profile as settings.yaml has them, and texts that pepadm
and the module make of them. test_pepadm.py has defaults and ranges by hand."""

import json
import os

from . import env

_FILE = os.path.join(env.TOP, "selftests/peptest/settings-gen.json")
_UNITS = "bit", "Kbit", "Mbit", "Gbit", "Tbit"


def rate(number):
    """Bytes per second as pepadm writes them."""
    bits, unit = 8 * number, 0
    while bits and bits % 1000 == 0 and unit + 1 < len(_UNITS):
        bits, unit = bits // 1000, unit + 1
    return f"{bits}{_UNITS[unit]}"


class Setting:
    """One setting: its keys in settings-gen.json, words with numbers as their
    keys, and key, its key in JSON output.

    kind is "name", "enum", "flags" or "number"; low and high are the range of
    a number, zero whether 0 is valid besides, most the largest valid number,
    largest all that its type can hold; entries are those of the enum, with
    their numbers. It is no option of pepadm where option is false.
    """

    def __init__(self, told):
        vars(self).update(told)
        self.words = {int(number): word
                      for number, word in told["words"].items()}
        self.key = self.word.replace("-", "_")
        self.most = max(self.high, *self.words, 0)
        self.is_rate = self.unit == "bytes per second"
        self.is_share = self.unit == "ten-thousandths"

    def text(self, number):
        """A number as pepadm writes it."""
        if self.kind == "enum":
            return list(self.entries)[number]
        return self.words.get(number) or self.digits(number)

    def digits(self, number):
        """A number without its word."""
        if self.is_rate:
            return rate(number)
        if not self.is_share:
            return str(number)
        whole = f"{number // 100}.{number % 100:02}"
        return whole.rstrip("0").rstrip(".") + "%"

    @property
    def usual(self):
        """The default as pepadm writes it."""
        if self.kind == "name":
            return self.default or "none"
        if self.word == "split":
            return SPLIT
        return self.text(self.default)

    def fits(self, number):
        """Is the number valid?"""
        return (self.low <= number <= self.high or number in self.words or
                self.zero and number == 0)

    def beyond(self):
        """Numbers next to both ends of the range and far from them that are
        not valid and fit into the type."""
        return [number for number in sorted({
            0, 1, self.low - 1, self.high + 1, self.high + 2, 2 * self.high,
            (1 << 32) - 1, self.largest})
            if 0 <= number <= self.largest and not self.fits(number)]

    @property
    def valid(self):
        """The valid values in pepadm's message."""
        found = [*self.entries] or [*self.words.values()]
        start = "one of: " if found else ""
        if self.kind == "number":
            kind = ("rate" if self.is_rate else "share" if self.is_share else
                    "number")
            least = 0 if self.zero and 0 not in self.words else self.low
            found.append(f"a {kind} from {self.digits(least)} to "
                         f"{self.digits(self.high)}")
        return start + ", ".join(found)

    @property
    def range(self):
        """The valid numbers in the module's message."""
        ends = [rate(end).lower() if self.is_rate else str(end)
                for end in (self.low, self.high)]
        unit = f" {self.unit}" if self.unit and not self.is_rate else ""
        more = [f", or {number} for {word}"
                for number, word in self.words.items() if number]
        return " to ".join(ends) + unit + "".join(more) + (
            ", or 0" if self.zero else "")


def _read():
    """The settings, in the order of pepadm's output."""
    with open(_FILE, encoding="ascii") as file:
        return [Setting(told) for told in json.load(file)]


SPLIT = "12000,loss"
SETTINGS = _read()
OPTIONS = [one for one in SETTINGS if one.option]


def line(**other):
    """All options with their defaults, or other values, as pepadm writes
    them."""
    values = {one.key: one.usual for one in OPTIONS}
    values.update(other)
    return " ".join(f"{key.replace('_', '-')} {value}"
                    for key, value in values.items())


def unusual():
    """For each option that is no name, another value than its default, as
    pepadm writes it; no two numbers are the same unless their range is
    small."""
    found = {}
    for at, one in enumerate(OPTIONS, 2):
        if one.word == "split":
            found[one.key] = "14601,loss"
        elif one.kind == "enum":
            found[one.key] = next(word for word in one.entries
                                  if word != one.usual)
        elif one.kind == "number":
            found[one.key] = one.text(125000 * at if one.is_rate else
                                      min(max(one.low, 1) + at, one.high))
    return found
