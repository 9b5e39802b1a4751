# SPDX-License-Identifier: GPL-2.0
"""The command line of a program: its usage text, and the refusal of words that
make no sense, in one line on standard error with exit code 2."""

import os
import re
import sys


def refuse(usage, why):
    """End the program, because its command line is wrong."""
    forms = re.findall(r"^(?:usage:|      ) (\S+\.py\b.*)$", usage,
                       re.MULTILINE)
    print(f"{os.path.basename(sys.argv[0])}: {why} "
          f"(usage: {' or '.join(forms)})", file=sys.stderr)
    sys.exit(2)


def arguments(usage, least, most=None, options=()):
    """The words of the command line, at least and at most so many; the first
    ones are no options but those given. For -h and --help, print the usage
    text and end the program."""
    words = sys.argv[1:]
    if words[:1] in (["-h"], ["--help"]):
        print(usage.strip())
        sys.exit(0)
    for word in words[:max(least, 1)]:
        if word.startswith("-") and word not in ("-", *options):
            refuse(usage, f"no such option: {word}")
    if len(words) < least:
        refuse(usage, "an argument is missing")
    if most is not None and len(words) > most:
        refuse(usage, f"one argument too many: {words[most]}")
    return words


def one_of(usage, kind, word, known):
    """Return a word that is a known one, or end the program."""
    if word not in known:
        refuse(usage, f"no such {kind}: {word} ({', '.join(known)})")
    return word


def number(usage, word):
    """Return the number from 1 on that a word is, or end the program."""
    if not re.fullmatch("[1-9][0-9]{0,9}", word):
        refuse(usage, f"no number from 1 on: {word}")
    return int(word)
