#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Print code made of the settings of a profile.

usage: gen-settings.py kmod|pepadm-header|pepadm-source|selftests SPEC SETTINGS
       gen-settings.py completion|manual SPEC SETTINGS FILE

For the module, a header with a list of the settings that are numbers, and with
the defaults of all. For pepadm, a header with the number of its options and
their usage text, and the table of them. For the selftests, all settings as
JSON. For completion, the given file with the values of options made anew
between two comments; for the manual, with its options and lists of them. The
result goes to standard output. The exit code is 1 when the files do not go
together, or a line of the usage text is too long, and 2 when the command line
is wrong.
"""

import json
import pathlib
import sys
import textwrap

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
import settings  # noqa: E402 pylint: disable=wrong-import-position
from commandline import arguments, one_of, refuse  # noqa: E402 pylint: disable=wrong-import-position

MADE = "Made by scripts/gen-settings.py from the spec and settings.yaml."
# Number of files that a target takes besides the sources.
TARGETS = {"kmod": 0, "pepadm-header": 0, "pepadm-source": 0, "selftests": 0,
           "completion": 1, "manual": 1}
WIDTH = 90              # columns of a line of the usage text


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
        number = str if one.unit == "ten-thousandths" else one.write
        valid = f"{number(one.low)} to {number(one.high)}"
        if one.unit and one.unit != "bytes per second":
            valid += f" {one.unit}"
        valid += "".join(f", or {value} for {word}"
                         for value, word in one.words.items() if value)
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


def pepadm_header(known, lines):
    """Print the header of pepadm."""
    print("/* SPDX-License-Identifier: GPL-2.0 */")
    print(f"/* {MADE} */")
    print("#ifndef _PEPADM_SETTINGS_GEN_H\n#define _PEPADM_SETTINGS_GEN_H\n")
    print("/* Number of settings. */")
    print(f"#define PEP_SETTINGS {sum(one.option for one in known)}")
    print("\n/* The settings in the usage text. */", end="")
    head = "OPTIONS := "
    usage = [(" " * len(head) if at else head) + " ".join(
        f"[ {one.word} {one.usage} ]" for one in line)
             for at, line in enumerate(lines)]
    for line in usage:
        if len(line) > WIDTH:
            sys.exit("settings.yaml: usage: this line would have "
                     f"{len(line)} columns, more than {WIDTH}: {line}")
    macro("PEP_SETTINGS_USAGE",
          ["\t" + json.dumps(line + "\n") for line in usage])
    print("\n#endif")


def choices(one):
    """Name of the table of a setting's words, None without one."""
    if one.kind == "enum":
        return "names_" + one.enum.replace("-", "_")
    return f"words_{one.like.replace('-', '_')}" if one.words else None


def option(one):
    """The initialisers of a setting's option."""
    yield f".word = {json.dumps(one.word)},"
    if one.kind == "name":
        yield ".check = pep_args_check_name,"
    if one.kind == "flags":
        yield f".check = pep_{one.key}_check,"
    if choices(one):
        yield f".choices = {choices(one)},"
        yield f".n_choices = ARRAY_SIZE({choices(one)}),"
    if one.kind == "number":
        yield ".numeric = true,"
        if one.unit == "bytes per second":
            yield ".rate = true,"
        if one.unit == "ten-thousandths":
            yield ".percent = true,"
        # 0 has a word, or it is the smallest number.
        if one.low and not (one.zero and 0 not in one.words):
            yield f".min = {one.low.c},"
        yield f".max = {one.high.c},"
    for gone, instead in one.gone.items():
        yield f".gone = {json.dumps(gone)},"
        yield f".instead = {json.dumps(instead)},"


def row(one):
    """The lines of a setting in pepadm's table."""
    return ("\t{", f"\t\t.attr = PEP_A_PROFILE_{one.attr},",
            "\t\t.option = {", *(f"\t\t\t{line}" for line in option(one)),
            "\t\t},",
            *[f"\t\t.key = {json.dumps(one.key)},"] * (one.kind != "flags"),
            *["\t\t.rare = true,"] * (not one.always),
            *([f"\t\t.usual = {one.default.c},"]
              if one.kind in ("enum", "number") and one.default and
              not one.always else ()),
            "\t},")


def pepadm_source(known):
    """Print the table of pepadm."""
    print("// SPDX-License-Identifier: GPL-2.0")
    print(f"/* {MADE} */")
    print('#include "setting.h"\n\n#include <linux/pep.h>\n\n'
          '#include "names-gen.h"\n#include "split.h"\n')
    for one in known:
        if one.words and one.like == one.name:
            print(f"static const char * const {choices(one)}[] = {{")
            for number, word in one.words.items():
                print(f"\t[{number.c}] = {json.dumps(word)},")
            print("};\n")
    print("const struct pep_setting pep_settings[PEP_SETTINGS] = {")
    print("\n".join(line for one in known if one.option for line in row(one)))
    print("};")


def selftests(known):
    """Print the settings for the selftests, in JSON, each in a line."""
    keys = ("name", "word", "kind", "low", "high", "zero", "words", "largest",
            "entries", "unit", "default", "option", "live", "always", "life")
    print("[\n" + ",\n".join(
        json.dumps({key: getattr(one, key) for key in keys})
        for one in known) + "\n]")


def between(text_before, begin, end, made):
    """A text with the lines between two lines made anew."""
    parts = [part for one in text_before.split(f"{begin}\n")
             for part in one.split(f"{end}\n")]
    if len(parts) != 3:
        sys.exit(f'not just one "{begin.strip()}" before one '
                 f'"{end.strip()}"')
    return f"{parts[0]}{begin}\n{made}{end}\n{parts[2]}"


def completion(known, path):
    """Print the completion of pepadm."""
    by_values = {}
    for one in known:
        if one.option and one.kind in ("enum", "number") and one.values:
            by_values.setdefault(" ".join(one.values), []).append(one.word)
    with open(path, encoding="utf-8") as file:
        print(between(
            file.read(),
            "\t# The values of a profile's options, as in settings.yaml.",
            "\t# Other words.",
            "".join(f"\t{' | '.join(words)}) echo {values} ;;\n"
                    for values, words in by_values.items())), end="")


def commas(name, words):
    """Lines of mdoc with words in a macro, each with a comma behind it."""
    text_of = " ".join(f"{word}\0," for word in words)
    return [f".{name} {line}".replace("\0", " ")
            for line in textwrap.wrap(text_of, 75, break_on_hyphens=False)]


def listed(name, words, end=""):
    """Lines of mdoc with words in a macro, "and" before the last one."""
    lines = commas(name, words[:-1])
    return [*lines[:-1], lines[-1].removesuffix(" ,"), "and",
            f".{name} {words[-1]}{end}"]


def item(alike):
    """The lines of the manual about settings that are alike."""
    words = f"Cm {' | '.join(one.word for one in alike)}"
    heading = alike[0].heading
    if len(words + heading) < 75:
        yield f".It {words} {heading}"
    else:
        yield from (".It Xo", f".{words}", f".{heading}", ".Xc")
    yield from alike[0].manual.splitlines()


def manual(known, path):
    """Print the manual page of pepadm."""
    with open(path, encoding="utf-8") as file:
        page = file.read()
    options = [one for one in known if one.option]
    alike = {}
    for one in options:
        alike.setdefault(one.like, []).append(one)
    for name, lines in (
            ("live options",
             listed("Cm", [one.word for one in options if one.live], " ;")),
            ("shown options",
             listed("Cm", [one.word for one in options if one.always])),
            ("keys of options",
             commas("Em", ["name", *(one.key for one in known), "devices",
                           "flows"])),
            ("options", [line for ones in alike.values()
                         for line in item(ones)])):
        page = between(page, f'.\\" Begin of {name}, made of settings.yaml.',
                       f'.\\" End of {name}.',
                       "".join(f"{line}\n" for line in lines))
    print(page, end="")


def main():
    """Read the files named on the command line and print."""
    what, spec, path, *file = arguments(__doc__, 3, 4)
    one_of(__doc__, "target", what, TARGETS)
    if len(file) != TARGETS[what]:
        refuse(__doc__, f"{what} takes {3 + TARGETS[what]} arguments")
    known, lines = settings.read(spec, path)
    if what == "kmod":
        kmod(known)
    elif what == "pepadm-header":
        pepadm_header(known, lines)
    elif what == "pepadm-source":
        pepadm_source(known)
    elif what == "selftests":
        selftests(known)
    elif what == "completion":
        completion(known, *file)
    else:
        manual(known, *file)


if __name__ == "__main__":
    main()
