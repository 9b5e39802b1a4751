#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""What ktap.py has written of several guests.

usage: counts.py sum FILE
       counts.py again FILE KERNEL

sum prints every failure once more and the sums as the last line; it exits with
1 when there is a failure or nothing has passed. again prints the tests of a
kernel that are worth to be repeated, none when a guest itself failed: guests
that run beside each other under emulation can starve one another, so a few
tests that failed are run once more, alone, and what is found then counts in
place of the first time. Failures that must not happen a single time are never
repeated.

The guests of a kernel have titles KERNEL-NUMBER, that of repeated tests is
KERNEL-again.
"""

import sys

MOST = 3                # tests repeated; more failures have a real cause
AGAIN = "again"


def read(path):
    """Return {(title, test): [passed, failed, skipped, fatal]} and the
    failures, tuples of title, test and text."""
    counts, failures = {}, []
    with open(path, encoding="utf-8") as file:
        for line in file:
            what, title, test, *rest = line.rstrip("\n").split("\t")
            if what == "fail":
                failures.append((title, test, rest[0]))
                continue
            sums = counts.setdefault((title, test), [0] * 4)
            for index, number in enumerate(rest):
                sums[index] += int(number)
    return counts, failures


def repeatable(counts, kernel):
    """Names of the tests of a kernel to repeat."""
    found = [key for key, (_, failed, _, _) in counts.items()
             if key[0].startswith(kernel + "-") and failed]
    if len(found) > MOST or any(test == "-" for _, test in found):
        return []
    return [key[1] for key in found if not counts[key][3]]


def superseded(counts):
    """The results that those of repeated tests replace."""
    repeated = {(title.rpartition("-")[0], test) for title, test in counts
                if title.endswith("-" + AGAIN) and test != "-"}
    return {(title, test) for title, test in counts
            if (title.rpartition("-")[0], test) in repeated
            and not title.endswith("-" + AGAIN)}


def show(path):
    """Print failures and sums; return the exit code."""
    counts, failures = read(path)
    gone = superseded(counts)
    for title, test, text in failures:
        word = "repeated" if (title, test) in gone else "FAIL"
        print(f"{word} {title}: {test}: {text}")
    passed, failed, skipped, _ = (
        sum(each) for each in zip([0] * 4, *(
            numbers for key, numbers in counts.items() if key not in gone)))
    more = f", {skipped} skipped" if skipped else ""
    print(f"{passed} passed, {failed} failed{more}")
    return 1 if failed or not passed else 0


def main():
    """Run the subcommand of the command line."""
    if sys.argv[1:2] == ["sum"] and len(sys.argv) == 3:
        return show(sys.argv[2])
    if sys.argv[1:2] == [AGAIN] and len(sys.argv) == 4:
        for test in repeatable(read(sys.argv[2])[0], sys.argv[3]):
            print(test)
        return 0
    print(__doc__, file=sys.stderr)
    return 2


if __name__ == "__main__":
    sys.exit(main())
