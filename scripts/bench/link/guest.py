#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Inside the guest: the cells of one link.

usage: guest.py JOB RESULTS

JOB is a file of JSON: the link's name, the cells (lists of task and
contestant), the seed and the repeat; whether the link's floors are wanted, and
the tasks of which a time line is. Each becomes a line of the file RESULTS.
Needs the variables that selftests/run.py needs.
"""

import contextlib
import json
import os
import pathlib
import sys
import traceback

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parents[2] / "selftests"), str(HERE.parent)]
sys.path.insert(0, str(HERE))

# pylint: disable=wrong-import-position
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
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        job = json.load(file)
    part = sys.argv[2] + ".part"
    try:
        with open(part, "w", encoding="utf-8") as out:
            for record in records(job):
                out.write(json.dumps(record) + "\n")
    except (Failure, OSError, RuntimeError):
        traceback.print_exc(file=sys.stdout)
        return 1
    os.rename(part, sys.argv[2])
    return 0


if __name__ == "__main__":
    sys.exit(main())
