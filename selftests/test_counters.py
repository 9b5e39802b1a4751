# SPDX-License-Identifier: GPL-2.0
"""Counters have the numbers and names of the specification, in its order,
everywhere: in the UAPI header, in messages of the module, and in pepadm. New
ones are appended: monitoring software relies on the names, programs built with
an older header on the numbers."""

import functools
import json
import os

import yaml

from peptest import env, genl, pep
from peptest.ktap import case, expect
from peptest.pep import pepadm

SPEC = os.path.join(env.TOP, "Documentation/netlink/specs/pep.yaml")
NONE = "pad", "cpu"     # attributes of the set that are not counters


@functools.cache
def specified():
    """The attributes by number, in the order of the specification."""
    with open(SPEC, encoding="utf-8") as file:
        sets = yaml.safe_load(file)["attribute-sets"]
    attrs, = (each["attributes"] for each in sets if each["name"] == "stat")
    found = {}
    number = 0
    for attr in attrs:
        number = attr.get("value", number + 1)
        found[number] = attr["name"].replace("-", "_")
    return found


def counters():
    """The same without attributes that are not counters."""
    return {number: name for number, name in specified().items()
            if name not in NONE}


def setup():
    """Loaded; the family answers requests in the namespace."""
    pep.detached()


@case("the specification's numbers")
def spec():
    known = specified()
    expect("the order", list(known), list(range(1, len(known) + 1)))
    expect("names", len(set(known.values())), len(known))
    expect("the first one", known[1], "pad")


@case("the numbers of the UAPI header")
def header():
    expect("all", list(genl.names("PEP_A_STAT_").items()),
           list(specified().items()))


@case("the names that pepadm shows, and their order")
def shown():
    names = list(counters().values())
    expect("JSON", list(json.loads(pepadm("-j", "stat", "show").stdout)),
           names)
    lines = pepadm("stat", "show").stdout.splitlines()
    expect("as text", [line.split()[0] for line in lines], names)


@case("the numbers that the module sends")
def sent():
    answer, = genl.request("pep", genl.family_id("pep", "pep"),
                           pep.CMD_STAT_GET)
    kinds = [kind for kind, _ in genl.attrs(answer)]
    expect("all", [kind for kind in kinds if specified()[kind] not in NONE],
           list(counters()))
