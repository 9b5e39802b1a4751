#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print a C header with names from the netlink spec.

usage: gen-names.py pepadm|kmod|stat SPEC

For pepadm every enum becomes a table of strings indexed by value, every set of
flags one indexed by bit, the attribute set "stat" one indexed by attribute
number, and its documentation another. The module gets its counters, those of
"stat", as an enum of its own (stat), and tables of their names and of their
attributes (kmod). The header goes to standard output. The exit code is 2 when
the command line is wrong.
"""

import json
import pathlib
import sys

import yaml

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from commandline import arguments, one_of, refuse  # noqa: E402 pylint: disable=wrong-import-position


def table(ident, first, names):
    """Return the text of one table of names, indexed from first."""
    rows = "".join(f"\t[{first + i}] = {json.dumps(n)},\n"
                   for i, n in enumerate(names))
    return f"static const char * const {ident}[] = {{\n{rows}}};\n"


def names_of(attrs):
    """Return the names of an attribute set in the form of counters."""
    return ["" if a["type"] == "pad" else a["name"].replace("-", "_")
            for a in attrs["attributes"]]


def counters(stat):
    """Return the ends of the identifiers of the module's counters."""
    return [attr["name"].replace("-", "_").upper()
            for attr in stat["attributes"] if attr["type"] == "uint"]


def by_counter(kind, ident, stat, value):
    """Return the text of a table that is indexed by the module's counters."""
    rows = "".join(f"\t[PEP_STAT_{end}] = {value(end)},\n"
                   for end in counters(stat))
    return f"static const {kind}{ident}[] = {{\n{rows}}};\n"


def enum(stat):
    """Return the text of the enum of the module's counters."""
    rows = "".join(f"\tPEP_STAT_{end},\n"
                   for end in ("NONE", *counters(stat), "NAMED"))
    return (
        "/* Counters, with their meaning in the spec. PEP_STAT_NONE is no\n"
        " * counter; PEP_STAT_NAMED is behind the last one.\n */\n"
        f"enum pep_stat {{\n{rows}}};\n")


def main():
    """Read the spec named on the command line and print the header."""
    who, path = arguments(__doc__, 2, 2)
    one_of(__doc__, "target", who, ("pepadm", "kmod", "stat"))
    if not pathlib.Path(path).is_file():
        refuse(__doc__, f"no such file: {path}")
    with open(path, encoding="utf-8") as spec:
        family = yaml.safe_load(spec)
    stat, = (a for a in family["attribute-sets"] if a["name"] == "stat")
    guard = {"pepadm": "_PEPADM_NAMES_GEN_H", "kmod": "_PEP_NAMES_GEN_H",
             "stat": "_PEP_STAT_GEN_H"}[who]

    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print("/* Made by scripts/gen-names.py from the netlink spec. */")
    print(f"#ifndef {guard}")
    print(f"#define {guard}")
    if who == "stat":
        print("\n" + enum(stat), end="")
    elif who == "kmod":
        print("\n" + by_counter("char * const ", "pep_stat_names", stat,
                                lambda end: f'"{end.lower()}"'), end="")
        print("\n" + by_counter("u16 ", "pep_stat_attrs", stat,
                                lambda end: f"PEP_A_STAT_{end}"), end="")
    else:
        for entry in family["definitions"]:
            if entry["type"] in ("enum", "flags"):
                ident = "names_" + entry["name"].replace("-", "_")
                names = [e["name"] for e in entry["entries"]]
                print("\n" + table(ident, 0, names), end="")
        print("\n" + table("names_stat", 1, names_of(stat)), end="")
        print("\n" + table("docs_stat", 1, [
            " ".join(a.get("doc", "").split())
            for a in stat["attributes"]]), end="")
    print("\n#endif")


if __name__ == "__main__":
    main()
