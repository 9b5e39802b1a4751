#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Follow a KTAP stream: show each test at its end, and all failures; count.

usage: ktap.py TITLE RAW-LOG COUNTS < STREAM

Only leaves count, a subtest's own result is that of its cases; one that says
"not ok" although none of its cases did is a failure of its own. Appends to
the file COUNTS for each test of the first level, with tabs between:
"count", TITLE, TEST, and the numbers of cases that passed, failed, were
skipped, and failed in a way that must not happen a single time ("fatal"); and
for each failure "fail", TITLE, TEST and what failed. The stream goes unchanged
into RAW-LOG; diagnostic lines are shown when their case fails. The exit code
is 1 when a case failed, 2 when the command line is wrong, and 3 when COUNTS
lacks results.
"""

import re
import sys
import time
import traceback

RESULT = re.compile(r"^((?:# )?\s*)(not )?ok(?:\s+\d+)?(?:\s+-)?\s*([^#]*)"
                    r"(?:#\s*(.*))?$")
PLAN = re.compile(r"^((?:# )?\s*)1\.\.(\d+)")
DIAGNOSTIC = re.compile(r"^\s*#")
SUBTEST = re.compile(r"^ {0,4}# Subtest: (\S+)")
REASON = re.compile(r"^\s*# (fatal|failed|\w+(?:Error|Expired)): (.*)")
SHOWN = 200             # diagnostic lines shown of one failing case
KINDS = "passed", "failed", "skipped", "fatal"


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
        self.sums = dict.fromkeys(KINDS, 0)
        self.counts = dict.fromkeys(KINDS, 0)   # of the test that runs
        self.notes = []
        self.subtest = "-"
        self.records = []
        self.start = time.monotonic()

    def show(self, text):
        """Print a line under the title, with the seconds elapsed."""
        gone = time.monotonic() - self.start
        print(f"{self.title}: {gone:4.0f} s  {text}", flush=True)

    def fail(self, name):
        """Count and show a failure with the diagnostics before it."""
        self.counts["failed"] += 1
        for note in self.notes[-SHOWN:]:
            print(f"    {note}")
        self.show(f"FAIL {name}")
        reasons = [REASON.match(note) for note in self.notes]
        kind, reason = next((found.groups() for found in reasons if found),
                            ("", ""))
        self.counts["fatal"] += kind == "fatal"
        self.record("fail", f"{name}: {reason}")

    def record(self, *fields):
        """Add a line about the test that runs."""
        what, *rest = fields
        self.records.append("\t".join((what, self.title, self.subtest,
                                       *map(str, rest))))

    def end_test(self):
        """A test of the first level has ended."""
        self.record("count", *self.counts.values())
        for kind in KINDS:
            self.sums[kind] += self.counts[kind]
            self.counts[kind] = 0
        self.subtest = "-"

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
        """Process one result line."""
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
            self.counts["skipped"] += 1
            self.show(f"skip {name}: {directive[4:].strip()}")
        elif good:
            self.counts["passed"] += 1
            if not depth:
                self.show(f"ok   {name}")
        else:
            level.failed += 1
            self.fail(name)
        self.notes = []
        if not depth:
            self.end_test()

    def line(self, text):
        """Process one line of the stream."""
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
        """Count the results that the stream announced and lacks."""
        if not self.levels:
            self.fail("no test results at all")
        self.close(0)
        self.end_test()
        # A result missing at the first level is no test's own failure.
        self.close(-1)
        self.counts["fatal"] = self.counts["failed"]
        self.end_test()


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
    sums = stream.sums
    stream.show(f"{sums['passed']} passed, {sums['failed']} failed, "
                f"{sums['skipped']} skipped")
    with open(sys.argv[3], "a", encoding="utf-8") as counts:
        for record in stream.records:
            counts.write(record + "\n")
    return 1 if sums["failed"] else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Exception:
        traceback.print_exc()
        sys.exit(3)
