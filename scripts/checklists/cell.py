# SPDX-License-Identifier: GPL-2.0
"""Beside the modules of bench link: plan a cell, make up its figures and look
for them in the report.

usage: cell.py FOLDER DATA FILTER...

FOLDER gets the files of the runs, DATA is the content of cell.yaml as JSON, a
FILTER one of sets.py.
"""

import dataclasses
import json
import pathlib
import sys

sys.path.append("../../../selftests")

# pylint: disable=wrong-import-position
import sections  # noqa: E402
from blocks import markdown  # noqa: E402
from check import data_faults  # noqa: E402
from floor import floors  # noqa: E402
from links import LINKS  # noqa: E402
from plan import Plan, gather  # noqa: E402
from runs import Runner  # noqa: E402
from table import read  # noqa: E402
from targets import judged  # noqa: E402
from tasks import TASKS  # noqa: E402
from world import World  # noqa: E402

WINDOW = [(0, 65536), (30000, 10000000)]    # of a subscriber


def must(what, good):
    """End with an error unless something is so."""
    if not good:
        sys.exit(what)


def qdiscs(link):
    """The options of a link's qdiscs, without its namespaces."""
    world = World.__new__(World)
    world.link, world.varies = link, False
    return [stage.options(1) for way in world._ways() for stage in way]


def figures(job, link, task):
    """The records of a run, each contestant at the task's floor."""
    yield {"link": link.name, "floors": floors(link, WINDOW)}
    for work, who in job["cells"]:
        yield {"link": link.name, "work": work, "contestant": who, "samples":
               {task.metric: [floors(link, WINDOW)[task.name]]}}


def main():
    """Plan, make up, report."""
    folder, data, *filters = sys.argv[1:]
    data = json.loads(data)
    link, task = LINKS[data["link"]], TASKS[data["work"]]
    plan = Plan(folder, "standard", 1, *filters)
    job = json.loads(pathlib.Path(plan.next()).read_text("utf-8"))
    must("the property has no effect", qdiscs(link) != qdiscs(
        dataclasses.replace(link, **{data["property"]: 0})))
    must("the runner has no method of the task's kind",
         hasattr(Runner, task.kind))
    must("the link has no floor of the task",
         task.name in floors(link, WINDOW))
    for repeat in range(plan.set.repeats):
        plan.path(link.name, repeat, "jsonl").write_text("".join(
            json.dumps(record) + "\n"
            for record in figures(job, link, task)), "utf-8")
    gather(plan, "a trial", "none")
    table = read(folder + "/link.jsonl")
    for fault in data_faults(table):
        sys.exit(fault)
    must("the report has no property of that name", table.links[
        link.name].get(data["property"]) == data["value"])
    must("not one table of factors has the task", sum(
        bool(holds(table.works[task.name]))
        for _, holds in sections.FACTORS) == 1)
    must("no table has the task", data["title"] in markdown(
        [*sections.factors(table), *sections.per_link(table)]))
    must("no target of the cell is met", any(
        verdict.met for verdict in judged(table)
        if (verdict.target.link, verdict.target.work) == (
            link.name, task.name)))


main()
