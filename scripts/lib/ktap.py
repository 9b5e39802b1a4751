#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Follow a KTAP stream: show what fails while it runs, count the cases.

usage: ktap.py TITLE RAW-LOG COUNTS < STREAM

Only leaves count, a subtest's own result is that of its cases; one that says
"not ok" although none of its cases did is a failure of its own. Appends to
the file COUNTS a line "FAIL TEXT" for each failure, and a last one "PASSED
FAILED SKIPPED". The stream goes unchanged into RAW-LOG; diagnostic lines are
shown when their case fails.
"""

import re
import sys
import time

RESULT = re.compile(r"^((?:# )?\s*)(not )?ok(?:\s+\d+)?(?:\s+-)?\s*([^#]*)"
                    r"(?:#\s*(.*))?$")
PLAN = re.compile(r"^((?:# )?\s*)1\.\.(\d+)")
DIAGNOSTIC = re.compile(r"^\s*#")
SUBTEST = re.compile(r"^\s*# Subtest: (\S+)")
REASON = re.compile(r"^\s*# (?:failed|\w+(?:Error|Expired)): (.*)")
SHOWN = 200             # diagnostic lines shown of one failing case


class Level:
    """The cases seen so far at one depth of nesting."""

    def __init__(self):
        self.plan = None
        self.seen = 0
        self.failed = 0


class Stream:
    """State of a KTAP stream that is being read."""

    def __init__(self, title):
        self.title = title
        self.levels = {}
        self.passed = self.failed = self.skipped = 0
        self.notes = []
        self.subtest = ""
        self.failures = []
        self.start = time.monotonic()

    def show(self, text):
        """Print a line under the title, with the seconds gone."""
        gone = time.monotonic() - self.start
        print(f"{self.title}: {gone:4.0f} s  {text}", flush=True)

    def fail(self, name):
        """Count and show a failure with the diagnostics before it."""
        self.failed += 1
        for note in self.notes[-SHOWN:]:
            print(f"    {note}")
        self.show(f"FAIL {name}")
        reasons = [REASON.match(note) for note in self.notes]
        reason = next((found.group(1) for found in reasons if found), "")
        self.failures.append(f"{self.title}: {self.subtest}: {name}: {reason}")

    def close(self, depth):
        """End the levels deeper than depth; return (cases, failures)."""
        cases = failures = 0
        for deeper in sorted(d for d in self.levels if d > depth):
            level = self.levels.pop(deeper)
            cases += level.seen
            failures += level.failed
            if level.plan is not None and level.seen != level.plan:
                self.fail(f"{level.seen} of {level.plan} planned cases ran")
                failures += 1
        return cases, failures

    def result(self, depth, good, name, directive):
        """Take in one result line."""
        cases, failures = self.close(depth)
        level = self.levels.setdefault(depth, Level())
        level.seen += 1
        skip = (directive or "").upper().startswith("SKIP")
        if cases:
            if not good:
                level.failed += 1
                if not failures:
                    self.fail(f"{name} (none of its cases)")
            self.show(f"{'ok  ' if good else 'FAIL'} {name}: {cases} cases")
        elif skip:
            self.skipped += 1
            self.show(f"skip {name}: {directive[4:].strip()}")
        elif good:
            self.passed += 1
        else:
            level.failed += 1
            self.fail(name)
        self.notes = []

    def line(self, text):
        """Take in one line of the stream."""
        plan = PLAN.match(text)
        result = RESULT.match(text)
        if plan:
            level = self.levels.setdefault(len(plan.group(1)), Level())
            level.plan = int(plan.group(2))
        elif result:
            self.result(len(result.group(1)), not result.group(2),
                        result.group(3).strip(), result.group(4))
        elif DIAGNOSTIC.match(text) or "TAP version" not in text:
            subtest = SUBTEST.match(text)
            if subtest:
                self.subtest = subtest.group(1)
            self.notes.append(text)

    def end(self):
        """Account for what the stream promised and did not hold."""
        if not self.levels:
            self.fail("no test results at all")
        self.close(-1)


def main():
    """Read the stream to its end."""
    if len(sys.argv) != 4:
        print(__doc__, file=sys.stderr)
        return 2
    stream = Stream(sys.argv[1])
    with open(sys.argv[2], "wb") as raw:
        for line in sys.stdin.buffer:
            raw.write(line)
            raw.flush()
            stream.line(line.decode("utf-8", "replace").rstrip("\r\n"))
    stream.end()
    stream.show(f"{stream.passed} passed, {stream.failed} failed, "
                f"{stream.skipped} skipped")
    with open(sys.argv[3], "a", encoding="utf-8") as counts:
        for failure in stream.failures:
            counts.write(f"FAIL {failure}\n")
        counts.write(f"{stream.passed} {stream.failed} {stream.skipped}\n")
    return 1 if stream.failed else 0


if __name__ == "__main__":
    sys.exit(main())
