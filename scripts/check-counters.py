#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check that each counter is wherever it belongs, and lists the faults.

usage: check-counters.py

A counter of the netlink spec is in the reply of stat-get, counted or looked up
in kmod/, and explained in the guide, which has the metrics of other names in a
table; its series is in Grafana's dashboard, or left out by name. Selftests
name no other counters. The exit code is 1 when there are faults, and 2 when
the command line is wrong.
"""

import ast
import itertools
import json
import pathlib
import re
import sys

import yaml

TOP = pathlib.Path(__file__).resolve().parents[1]
sys.path.append(str(TOP / "scripts/lib"))
from commandline import arguments  # noqa: E402 pylint: disable=wrong-import-position

SPEC = "Documentation/netlink/specs/pep.yaml"
GUIDE = "Documentation/networking/pep-guide.rst"
CHAPTER = "The counters"
TABLE = "Prometheus"    # chapter with the table of metrics
METRICS = "tools/pepadm/metrics.c"
DASHBOARD = "tools/grafana/pep.json"
LEAVING = "selftests/test_dashboard.py"
NONE = "pad", "cpu"     # attributes of the set that are not counters
# Of grows() in selftests/peptest/pep.py, besides counters.
ARGUMENTS = "ns", "ended", None
# A line of names, with their meaning below and further in.
TERMS = re.compile(r"^( *)([a-z0-9_]+(?:, [a-z0-9_]+)*)\n(?=\1  \S)",
                   re.MULTILINE)
ROW = re.compile(r"^``(\w+)`` +``(pep_[^`]+)``$", re.MULTILINE)
RULE = re.compile(r'\{ "(\w+)", "(\w+)", (NULL|"\w+"),')


def read(path):
    """The text of a file."""
    return (TOP / path).read_text("utf-8")


def specified():
    """The counters of the set, and those of the reply, as users see them."""
    family = yaml.safe_load(read(SPEC))
    attrs, = (found["attributes"] for found in family["attribute-sets"]
              if found["name"] == "stat")
    reply, = (found["do"]["reply"]["attributes"]
              for found in family["operations"]["list"]
              if found["name"] == "stat-get")
    return tuple([name.replace("-", "_") for name in names
                  if name not in NONE]
                 for names in ([attr["name"] for attr in attrs], reply))


def chapter(title):
    """The text of a chapter of the guide."""
    return re.search(rf"^{title}\n=+\n(.*?)^[^\n]+\n=+\n", read(GUIDE),
                     re.DOTALL | re.MULTILINE)[1]


def explained():
    """The counters of the guide's chapter."""
    return {name for _, names in TERMS.findall(chapter(CHAPTER))
            for name in names.split(", ")}


def counted():
    """The counters that the module's sources name."""
    text = "".join(path.read_text("utf-8")
                   for path in TOP.glob("kmod/*.[ch]")
                   if "-gen." not in path.name)
    return {name.lower() for name in re.findall(r"\bPEP_STAT_(\w+)", text)}


def rule(name, text):
    """The rule of pepadm that applies to a counter, or None."""
    for found in RULE.findall(text):
        begin, _, label = found
        if name.startswith(begin) if label != "NULL" else name == begin:
            return found
    return None


def series(name, text):
    """The series of a counter, by the rules of pepadm."""
    found = rule(name, text)
    if found:
        return f"pep_{found[1]}"
    gauge = f"PEP_A_STAT_{name.upper()}" in re.search(
        r"^static bool counts\(.*?^}", text, re.DOTALL | re.MULTILINE)[0]
    return f"pep_{name}" + ("" if gauge else "_total")


def rows(counters, text):
    """The rows of the guide's table, by the rules of pepadm."""
    for name in counters:
        if not rule(name, text) and series(name, text) == f"pep_{name}":
            yield name, f"pep_{name}"
    for begin, metric, label in RULE.findall(text):
        if label == "NULL":
            yield begin, f"pep_{metric}"
        else:
            yield f"{begin}X", f"pep_{metric}{{{label[1:-1]}=\"X\"}}"


def shown():
    """The series that the dashboard asks for, or that its test leaves out."""
    found = set(re.findall(r"\bpep_[a-z0-9_]+", json.dumps(json.loads(
        read(DASHBOARD)))))
    left, = re.findall(r"^LEFT_OUT = (\{.*?\})$", read(LEAVING),
                       re.DOTALL | re.MULTILINE)
    return found | ast.literal_eval(left)


def tested():
    """Counters that selftests name as arguments, each with its file."""
    for path in TOP.glob("selftests/**/*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and getattr(
                    node.func, "id", getattr(node.func, "attr", "")
                    ) == "grows":
                for word in node.keywords:
                    if word.arg not in ARGUMENTS:
                        yield word.arg, path.relative_to(TOP)


def faults():
    """All faults, as lines."""
    counters, reply = specified()
    if reply != counters:
        wrong = sorted(set(counters) ^ set(reply)) or ["the order"]
        yield f"{SPEC}: set stat and reply of stat-get differ: {wrong[0]}"
    for text, there in (
            (f"{GUIDE}: {CHAPTER!r} lacks", explained()),
            ("kmod: no source counts", counted())):
        yield from (f"{text} {name}" for name in counters
                    if name not in there)
    yield from (f"{GUIDE}: no such counter: {name}"
                for name in sorted(explained() - set(counters)))
    rules, there = read(METRICS), shown()
    tabled = ROW.findall(chapter(TABLE))
    for row in itertools.zip_longest(rows(counters, rules), tabled):
        if row[0] != row[1]:
            yield f"{GUIDE}: a row of {TABLE!r} is {row[1]}, not {row[0]}"
            break
    for name in dict.fromkeys(series(name, rules) for name in counters):
        if name not in there:
            yield f"{DASHBOARD} and LEFT_OUT of {LEAVING} lack {name}"
    yield from (f"{path}: no such counter: {name}"
                for name, path in tested() if name not in counters)


def main():
    """Print the faults; fail when there are any."""
    arguments(__doc__, 0, 0)
    found = list(faults())
    for line in found:
        print(f"check-counters: {line}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
