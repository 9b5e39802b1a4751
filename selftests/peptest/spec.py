# SPDX-License-Identifier: GPL-2.0
"""The netlink specification as tables: operations, their requests, and the
attributes that these may have."""

import functools
import os

import yaml

from . import env, genl
from .settings import SETTINGS

SPEC = os.path.join(env.TOP, "Documentation/netlink/specs/pep.yaml")
SIZES = {"u16": (2,), "u32": (4,), "uint": (4, 8), "flag": (0,)}

# Settings of a profile whose ranges the policy does not have: smallest and
# largest value, and whether 0 is allowed besides.
_RANGES = {one.name: (one.low, one.most, one.fits(0))
           for one in SETTINGS if one.kind == "number"}


class Attribute:
    """One attribute: its number, its type, and its range: low, high and zero
    of numbers, mask of flags, length of strings."""

    def __init__(self, number, told, enums=None):
        self.number = number
        self.name = told["name"]
        self.type = told["type"]
        self.order = "big" if "byte-order" in told else "little"
        self.nested = told.get("nested-attributes")
        checks = told.get("checks", {})
        self.length = checks.get("max-len")
        self.sizes = SIZES.get(self.type)
        if "exact-len" in checks:
            self.sizes = checks["exact-len"],
        self.low, self.high = checks.get("min", 0), checks.get("max")
        self.zero = not self.low
        self.mask = None
        self.range = None
        if "enum" in told:
            kind, count = enums[told["enum"]]
            if kind == "flags":
                self.mask = (1 << count) - 1
            else:
                self.high = count - 1
        elif self.name in _RANGES:
            self.range = _RANGES[self.name]

    def fits(self, value):
        """Does the policy accept this number?"""
        if self.mask is not None:
            return not value & ~self.mask
        return self.low <= value and (self.high is None or value <= self.high)

    def in_range(self, value):
        """Is this number in the range given as text?"""
        if not self.range:
            return True
        low, high, zero = self.range
        return zero if not value else low <= value <= high


class Request:
    """A do or a dump: the attributes that it may have by number, None where
    the kernel parses none, and whether it returns a reply."""

    def __init__(self, kind, told, attributes):
        words = told.get("request", {}).get("attributes")
        self.dump = kind == "dump"
        self.replies = "reply" in told
        self.policy = None
        if words:
            self.policy = {one.number: one for one in attributes
                           if one.name in words}
        self.by_name = {one.name: one for one in (self.policy or {}).values()}


class Operation:
    """A command and its requests by kind, "do" and "dump"."""

    def __init__(self, number, told, attributes):
        self.number = number
        self.name = told["name"]
        self.admin = "admin-perm" in told.get("flags", ())
        self.requests = {kind: Request(kind, told[kind], attributes)
                         for kind in ("do", "dump") if kind in told}


def _numbered(told):
    """Attributes or operations with their numbers, consecutive from 1."""
    return enumerate(told, 1)


class Spec:
    """The specification: ops by number, constants and attribute sets by
    name."""

    def __init__(self):
        with open(SPEC, encoding="utf-8") as file:
            told = yaml.load(file, Loader=getattr(yaml, "CSafeLoader",
                                                  yaml.SafeLoader))
        kinds = {one["name"]: one for one in told["definitions"]}
        self.consts = {name: one["value"] for name, one in kinds.items()
                       if one["type"] == "const"}
        enums = {name: (one["type"], len(one["entries"]))
                 for name, one in kinds.items() if "entries" in one}
        self.sets = {
            group["name"]: [Attribute(number, one, enums)
                            for number, one in _numbered(group["attributes"])]
            for group in told["attribute-sets"]}
        self.ops = {
            number: Operation(number, one, self.sets[one["attribute-set"]])
            for number, one in _numbered(told["operations"]["list"])
            if "event" not in one}
        self.by_name = {op.name: op for op in self.ops.values()}

    @functools.cache
    def nested(self, attribute):
        """The policy of the attributes in a nest, by number."""
        return {one.number: one for one in self.sets[attribute.nested]}

    def differs(self):
        """Commands and attributes whose numbers differ from the header's."""
        def of(prefix, found):
            known = genl.names(prefix)
            return [f"{prefix}{one.name}" for one in found if known.get(
                one.number) != one.name.replace("-", "_")]
        wrong = of("PEP_CMD_", self.ops.values())
        for name in {attribute.nested for group in self.sets.values()
                     for attribute in group if attribute.nested} | {
                         "profile", "flow", "limit", "conn", "path", "gain"}:
            wrong += of(f"PEP_A_{name.upper().replace('-', '_')}_",
                        self.sets[name])
        return wrong


@functools.cache
def load():
    """The specification, read once."""
    return Spec()
