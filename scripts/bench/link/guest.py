#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: the cells of one link.

usage: guest.py JOB RESULTS

JOB is a file of JSON: the link's name, the cells (lists of task and
contestant), the seed and the repeat; whether the link's floors are wanted, and
the tasks of which a time line is. Each becomes a line of JSON in the file
RESULTS, whose keys have their units. Needs the variables that selftests/run.py
needs. The exit code is 1 when a run fails, and 2 when the command line is
wrong.
"""

import contextlib
import json
import os
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "selftests"), str(HERE.parent),
                str(HERE.parents[1] / "lib")]
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
from commandline import arguments, refuse  # noqa: E402
from floor import floors  # noqa: E402
from links import LINKS  # noqa: E402
from peptest import service  # noqa: E402
from peptest.ktap import Failure  # noqa: E402
from proxies import PROXIES  # noqa: E402
from runs import Runner  # noqa: E402
from tasks import TASKS  # noqa: E402
from tracing import timeline, window  # noqa: E402
from transfer import TransferError  # noqa: E402
from world import World  # noqa: E402


def cells_of(link, contestant, names, job):
    """Do the tasks of one contestant; yield a record for each."""
    world = World(link, contestant.startswith("pair"))
    try:
        with PROXIES[contestant]():
            runner = Runner(world, contestant, job["seed"])
            for name in names:
                record = {"link": link.name, "work": name,
                          "contestant": contestant, "repeat": job["repeat"],
                          "seed": job["seed"]}
                try:
                    record["samples"] = runner.run(TASKS[name])
                except TransferError as err:
                    record["error"] = str(err)
                yield record
            runner.close()
    finally:
        service.services_down()
        world.end()


def records(job):
    """Measure all parts of the job; yield the records."""
    link = LINKS[job["link"]]
    if job.get("floors"):
        yield {"link": link.name, "floors": floors(link, window(link))}
    tasks = {}
    for name, contestant in job["cells"]:
        tasks.setdefault(contestant, []).append(name)
    for contestant, names in tasks.items():
        yield from cells_of(link, contestant, names, job)
    for name in job.get("timeline", ()):
        with contextlib.suppress(TransferError):
            yield {"timeline": timeline(link, TASKS[name], job["seed"])}


def main():
    """Do the job of the command line."""
    plan, results = arguments(__doc__, 2, 2)
    if not os.path.isfile(plan):
        refuse(__doc__, f"no such file: {plan}")
    with open(plan, encoding="utf-8") as file:
        job = json.load(file)
    part = results + ".part"
    try:
        with open(part, "w", encoding="utf-8") as out:
            for record in records(job):
                out.write(json.dumps(record) + "\n")
    except (Failure, OSError, RuntimeError):
        traceback.print_exc(file=sys.stdout)
        return 1
    os.rename(part, results)
    return 0


if __name__ == "__main__":
    sys.exit(main())
