# SPDX-License-Identifier: GPL-2.0
"""The settings of a profile, out of the netlink spec and settings.yaml, whose
head describes its keys."""

import itertools
import re
import sys

import yaml

KEYS = {"name", "like", "word", "option", "usage", "member", "range",
        "nonzero", "unit", "words", "default", "live", "shown", "gone",
        "heading", "manual", "life"}
# Placeholders of a number in the usage text and in the manual, by its unit.
UNITS = {None: ("N", "n"), "seconds": ("SECONDS", "seconds"),
         "milliseconds": ("MS", "milliseconds"), "bytes": ("BYTES", "bytes"),
         "segments": ("N", "segments"), "probes": ("N", "n"),
         "ten-thousandths": ("PERCENT%", "share"),
         "bytes per second": ("RATE", "rate")}
# Attributes of a profile that are no settings.
UNSET = {"name", "live", "devices", "flows"}
# Operations with profiles, and the attributes that they lack.
OTHERS = (("profile-get", "reply", {"live"}),
          ("profile-add", "request", {"live", "devices", "flows"}),
          ("profile-set", "request", {"devices", "flows"}))
LARGEST = {"u32": (1 << 32) - 1, "uint": (1 << 64) - 1}


class Wrong(Exception):
    """The files do not go together."""


class Number(int):
    """A number and its name in C."""

    def __new__(cls, value, name=None):
        made = super().__new__(cls, value)
        made.c = name or str(value)
        return made


class Spec:
    """The constants and enums of the spec, and the attributes of profiles."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            family = yaml.safe_load(file)
        kinds = {one["name"]: one for one in family["definitions"]}
        self._check_entries(kinds)
        self.consts = {
            name: Number(one["value"], f"PEP_{upper(name)}")
            for name, one in kinds.items()
            if one["type"] == "const" and isinstance(one["value"], int)}
        self.enums = {
            name: {entry["name"]: Number(
                       1 << i if one["type"] == "flags" else i,
                       f"PEP_{upper(name)}_{upper(entry['name'])}")
                   for i, entry in enumerate(one["entries"])}
            for name, one in kinds.items() if "entries" in one}
        self.flags = {name for name, one in kinds.items()
                      if one["type"] == "flags"}
        profile, = (one for one in family["attribute-sets"]
                    if one["name"] == "profile")
        self.attributes = {one["name"]: one for one in profile["attributes"]}
        self._check_lists(family["operations"]["list"], {
            one["name"]: {attr["name"] for attr in one["attributes"]}
            for one in family["attribute-sets"]})

    @staticmethod
    def _check_entries(kinds):
        """Names of enums' entries are text: YAML reads a bare on or off as a
        boolean."""
        for name, one in kinds.items():
            for entry in one.get("entries", ()):
                if not isinstance(entry["name"], str):
                    raise Wrong(f"{name}: the entry {entry['name']} needs "
                                "quotes")

    def _check_lists(self, operations, sets):
        """The lists of operations have attributes of their sets, and those of
        operations with profiles have all, but for OTHERS."""
        for one, way, part in itertools.product(
                operations, ("do", "dump"), ("request", "reply")):
            given = one.get(way, {}).get(part, {}).get("attributes", ())
            for name in given:
                if name not in sets[one["attribute-set"]]:
                    raise Wrong(f"{one['name']}: {name} is not in the set "
                                f"{one['attribute-set']}")
        lists = {one["name"]: one.get("do", {}) for one in operations}
        for name, kind, without in OTHERS:
            known = set(self.attributes) - without
            for one in sorted(known ^ set(lists[name][kind]["attributes"])):
                raise Wrong(f"{one} is only in one of the set profile and the "
                            f"{kind} of {name}")

    def number(self, given):
        """A number that is given as such or as a constant."""
        if isinstance(given, int):
            return Number(given)
        if given not in self.consts:
            raise Wrong(f"{given} is no constant of the spec")
        return self.consts[given]


class Setting:
    """One setting.

    kind is "name", "enum", "flags" or "number"; low and high are the range of
    a number, zero whether 0 is valid besides, words has the names of numbers;
    like is the setting with the same keys, by default itself.
    """

    def __init__(self, spec, keys):
        unknown = set(keys) - KEYS
        if unknown:
            raise Wrong(f"no such key: {', '.join(sorted(unknown))}")
        if keys["name"] not in spec.attributes:
            raise Wrong("no attribute of a profile")
        attribute = spec.attributes[keys["name"]]
        self.name = keys["name"]
        self.like = keys.get("like", self.name)
        self.attr = upper(self.name)
        self.word = keys.get("word", self.name)
        self.key = self.word.replace("-", "_")
        self.option = keys.get("option", True)
        self.member = keys.get("member", self.key)
        self.live = keys.get("live", False)
        self.always = keys.get("shown") == "always"
        self.gone = keys.get("gone", {})
        self.enum = attribute.get("enum")
        if "doc" not in attribute:
            raise Wrong("the attribute has no doc")
        if self.enum and self.enum not in spec.enums:
            raise Wrong(f"{self.enum} is no enum of the spec")
        if attribute["type"] not in (
                {"u32"} if self.enum else {"string", *LARGEST}):
            raise Wrong(f"{attribute['type']} is no type of a setting"
                        f"{' with an enum' if self.enum else ''}")
        self.entries = spec.enums.get(self.enum, {})
        self.life = keys.get("life", [])
        self.unit = keys.get("unit")
        if self.unit not in UNITS:
            raise Wrong(f"{self.unit} is none of the units "
                        f"{', '.join(unit for unit in UNITS if unit)}")
        self.low = self.high = Number(0)
        self.zero, self.words, self.largest = False, {}, 0
        if attribute["type"] == "string":
            self.kind = "name"
        elif self.enum:
            self.kind = "flags" if self.enum in spec.flags else "enum"
        else:
            self.kind = "number"
            self.largest = LARGEST[attribute["type"]]
            self._number(spec, keys)
        self.default = self._default(spec, keys.get("default"))
        self._check_doc(" ".join(attribute["doc"].split()))
        self.usage = keys.get("usage") or self._usage()
        self.heading = keys.get("heading") or self._heading()
        self.manual = self._manual(spec, keys.get("manual"))

    def _number(self, spec, keys):
        """Read the keys that only numbers have."""
        self.low, self.high = map(spec.number,
                                  keys.get("range", (0, self.largest)))
        self.words = {spec.number(number): word
                      for number, word in keys.get("words", {}).items()}
        for word in self.words.values():
            if not isinstance(word, str):
                raise Wrong(f"the word {word} needs quotes")
        self.zero = self.low > 0 and not keys.get("nonzero")
        if not self.low <= self.high <= self.largest:
            raise Wrong("no range")
        if self.zero and self.low > 1 and 0 not in self.words:
            raise Wrong("0, outside of the range, needs a word")
        if any(number not in (0, self.high + 1) for number in self.words):
            raise Wrong("a number with a word is neither 0 nor behind the "
                        "range")

    def _default(self, spec, given):
        """The default: a name, or a number."""
        if self.kind == "name":
            return given or ""
        if self.kind == "flags":
            flags = [self.entries[flag] for flag in given or ()]
            return Number(sum(flags), " | ".join(flag.c for flag in flags))
        if isinstance(given, bool):
            raise Wrong(f"the default {given} needs quotes")
        if self.kind == "enum":
            if given not in self.entries:
                raise Wrong(f"the default {given} is not in the enum")
            return self.entries[given]
        number = spec.number(given or 0)
        if not self.fits(number):
            raise Wrong(f"the default {given} is out of range")
        return number

    def _check_doc(self, doc):
        """Compare the numbers in the spec's text with the setting."""
        for form, number in ((r"(\d+) to \d+", self.low),
                             (r"\d+ to (\d+)", self.high),
                             (r"(\d+) by default", self.default),
                             (r"(\d+), the default", self.default)):
            for found in re.findall(form, doc):
                if int(found) != number:
                    raise Wrong(f"the doc of the spec has {found} for "
                                f"{number}")

    def fits(self, number):
        """Is this number valid?"""
        return (self.low <= number <= self.high or number in self.words or
                self.zero and not number)

    @property
    def most(self):
        """The largest valid number."""
        if self.kind == "flags":
            return Number(sum(self.entries.values()), " | ".join(
                flag.c for flag in self.entries.values()))
        return max([self.high, *self.entries.values(), *self.words])

    @property
    def values(self):
        """The names of values, in the order in which people expect them."""
        names = [*self.entries] or [*self.words.values()]
        return names[::-1] if names == ["off", "on"] else names

    def _usage(self):
        """The value in the usage text."""
        if self.kind not in ("enum", "number"):
            raise Wrong("usage is missing")
        parts = self.values
        if self.kind == "number":
            parts = [*parts, UNITS[self.unit][0]]
        return parts[0] if len(parts) == 1 else f"{{ {' | '.join(parts)} }}"

    def _heading(self):
        """The value in the manual, in mdoc."""
        if self.kind not in ("enum", "number"):
            return None
        words = f"Cm {' | '.join(self.values)}" if self.values else ""
        if self.kind == "enum":
            return f"Brq {words}"
        number = f"Ar {UNITS[self.unit][1]}"
        return f"Brq {words} | {number}" if words else number

    def _manual(self, spec, text):
        """The text of the manual."""
        if not text or not self.heading:
            if self.option:
                raise Wrong("heading or manual is missing")
            return None
        names = {**spec.consts, "min": self.write(self.low),
                 "max": self.write(self.high), "default": self._shown()}
        try:
            return re.sub(r"\{([a-z0-9-]*)\}",
                          lambda found: str(names[found.group(1)]), text)
        except KeyError as err:
            raise Wrong(f"{{{err.args[0]}}} is no constant") from err

    def _shown(self):
        """The default in the manual."""
        if self.kind == "name":
            return self.default
        if self.kind == "enum":
            return next(name for name, number in self.entries.items()
                        if number == self.default)
        return self.write(self.default)

    def write(self, number):
        """A number as on the command line, without its word."""
        if self.unit == "ten-thousandths":
            return f"{number / 100:.4g}%"
        if self.unit != "bytes per second":
            return str(number)
        bits, units = number * 8, ["bit", "kbit", "mbit", "gbit", "tbit"]
        while bits and len(units) > 1 and bits % 1000 == 0:
            bits //= 1000
            units.pop(0)
        return f"{bits}{units[0]}"


def upper(name):
    """A name of the spec as a part of one in C."""
    return name.replace("-", "_").upper()


def read(spec_path, path):
    """The settings, and the lines of the usage text, each a list of them.
    Exit with a message when the files do not go together."""
    try:
        spec = Spec(spec_path)
    except Wrong as err:
        sys.exit(f"{spec_path}: {err}")
    with open(path, encoding="utf-8") as file:
        source = yaml.safe_load(file)
    found, given = {}, {}
    for keys in source["settings"]:
        name = keys["name"]
        try:
            if name in found:
                raise Wrong("given twice")
            if "like" in keys and keys["like"] not in given:
                raise Wrong(f"{keys['like']} does not come before it")
            given[name] = {**given.get(keys.get("like"), {}), **keys}
            found[name] = Setting(spec, given[name])
        except Wrong as err:
            sys.exit(f"{path}: {name}: {err}")
    missing = set(spec.attributes) - set(found) - UNSET
    if missing:
        sys.exit(f"{path}: {', '.join(sorted(missing))}: no entry")
    by_word = {one.word: one for one in found.values() if one.option}
    words = [word for line in source["usage"] for word in line]
    for word in sorted({*words, *by_word}):
        if words.count(word) != (word in by_word):
            sys.exit(f"{path}: usage: {word}: " + (
                "no option" if word not in by_word else
                "is missing" if word not in words else "given twice"))
    return [*found.values()], [[by_word[word] for word in line]
                               for line in source["usage"]]
