#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print code made of the settings of a profile.

usage: gen-settings.py kmod SPEC SETTINGS

For the module, a header with a list of the settings that are numbers, and with
the defaults of all. It goes to standard output.
"""

import json
import pathlib
import sys

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
import settings  # noqa: E402 pylint: disable=wrong-import-position

MADE = "Made by scripts/gen-settings.py from the spec and settings.yaml."


def rate(number):
    """A rate in bytes per second as a word of tc."""
    number *= 8
    units = ["bit", "kbit", "mbit", "gbit", "tbit"]
    while len(units) > 1 and number % 1000 == 0:
        number //= 1000
        units.pop(0)
    return f"{number}{units[0]}"


def text(one):
    """Name and valid values of a setting in the module's error message."""
    if one.kind == "enum":
        valid = " or ".join(f"{number} {name}"
                            for name, number in one.entries.items())
    elif one.kind == "flags":
        *some, last = (f"{number} {name}"
                       for name, number in one.entries.items())
        valid = f"flags {', '.join(some)} and {last}, or 0"
    else:
        write = rate if one.unit == "bytes per second" else str
        valid = f"{write(one.low)} to {write(one.high)}"
        if one.unit and write is str:
            valid += f" {one.unit}"
        valid += "".join(f", or {number} to {word}"
                         for number, word in one.words.items() if number)
        valid += ", or 0" if one.zero else ""
    return f"{one.word}: {valid}"


def macro(name, lines):
    """Print a macro of several lines."""
    print("\n" + " \\\n".join([f"#define {name}", *lines]))


def kmod(known):
    """Print the header of the module."""
    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print(f"/* {MADE} */")
    print("#ifndef _PEP_SETTINGS_GEN_H\n#define _PEP_SETTINGS_GEN_H\n")
    for one in known:
        if one.kind == "name" and one.default:
            print(f"#define PEP_SETTINGS_{one.attr} "
                  f"{json.dumps(one.default)}")
    print("\n/* A struct pep_setting for each number. */", end="")
    macro("PEP_SETTINGS_NUMBERS", [
        line for one in known if one.kind != "name" for line in (
            "\t{",
            f"\t\t.attr = PEP_A_PROFILE_{one.attr},",
            f"\t\t.offset = offsetof(struct pep_values, {one.member}),",
            f"\t\t.size = sizeof_field(struct pep_values, {one.member}),",
            *["\t\t.live = true,"] * one.live,
            *["\t\t.nonzero = true,"] * (one.low > 0 and not one.zero),
            f"\t\t.min = {one.low.c},",
            f"\t\t.max = {one.most.c},",
            f"\t\t.text = {json.dumps(text(one))},",
            "\t},")])
    print("\n/* A struct pep_values with the defaults. */", end="")
    macro("PEP_SETTINGS_DEFAULTS", ["\t{"] + [
        f"\t\t.{one.member} = " +
        (one.default.c if one.kind != "name" else
         f"PEP_SETTINGS_{one.attr}") + ","
        for one in known if one.default] + ["\t}"])
    print("\n#endif")


def main():
    """Read the files named on the command line and print."""
    _, spec, path = sys.argv[1:]
    known, _ = settings.read(spec, path)
    kmod(known)


if __name__ == "__main__":
    main()
