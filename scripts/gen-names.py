#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print a C header with the names that pepadm shows, out of the netlink spec.

usage: gen-names.py SPEC

Every enum becomes a table of strings indexed by its values, the attribute
set "stat" one indexed by attribute number. Written to standard output.
"""

import sys

import yaml


def table(ident, first, names):
    """Return the text of one table of names, indexed from first."""
    rows = "".join(f'\t[{first + i}] = "{n}",\n' for i, n in enumerate(names))
    return f"static const char * const {ident}[] = {{\n{rows}}};\n"


def main():
    """Read the spec named on the command line and print the header."""
    with open(sys.argv[1], encoding="utf-8") as spec:
        family = yaml.safe_load(spec)

    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print("/* Made by scripts/gen-names.py from the netlink spec. */")
    print("#ifndef _PEPADM_NAMES_GEN_H")
    print("#define _PEPADM_NAMES_GEN_H")
    for entry in family["definitions"]:
        if entry["type"] == "enum":
            ident = "names_" + entry["name"].replace("-", "_")
            names = [e["name"] for e in entry["entries"]]
            print("\n" + table(ident, 0, names), end="")
    for attrs in family["attribute-sets"]:
        if attrs["name"] == "stat":
            print("\n" + table("names_stat", 1, [
                "" if a["type"] == "pad" else a["name"].replace("-", "_")
                for a in attrs["attributes"]]), end="")
    print("\n#endif")


if __name__ == "__main__":
    main()
