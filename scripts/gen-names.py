#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print a C header with names from the netlink spec.

usage: gen-names.py pepadm|kmod SPEC

For pepadm every enum becomes a table of strings indexed by value, every set of
flags one indexed by bit, the attribute set "stat" one indexed by attribute
number, and its documentation another. The module gets only the names of
"stat". The header goes to standard output.
"""

import json
import sys

import yaml


def table(ident, first, names):
    """Return the text of one table of names, indexed from first."""
    rows = "".join(f"\t[{first + i}] = {json.dumps(n)},\n"
                   for i, n in enumerate(names))
    return f"static const char * const {ident}[] = {{\n{rows}}};\n"


def names_of(attrs):
    """Return the names of an attribute set in the form of counters."""
    return ["" if a["type"] == "pad" else a["name"].replace("-", "_")
            for a in attrs["attributes"]]


def main():
    """Read the spec named on the command line and print the header."""
    who, path = sys.argv[1:]
    with open(path, encoding="utf-8") as spec:
        family = yaml.safe_load(spec)
    stat, = (a for a in family["attribute-sets"] if a["name"] == "stat")
    guard = {"pepadm": "_PEPADM_NAMES_GEN_H", "kmod": "_PEP_NAMES_GEN_H"}[who]

    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print("/* Made by scripts/gen-names.py from the netlink spec. */")
    print(f"#ifndef {guard}")
    print(f"#define {guard}")
    if who == "kmod":
        print("\n" + table("pep_stat_names", 1, names_of(stat)), end="")
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
