# SPDX-License-Identifier: GPL-2.0
"""The tasks over a link, and the metrics that judge their runs."""

import dataclasses
import typing

KB = 1000
OBJECTS = {"8k": 8 * KB, "30k": 30 * KB, "100k": 100 * KB,
           "1m": KB * KB, "20m": 20 * KB * KB}
PARALLEL = 6, 21, 40
PAGE_OBJECTS = 30
PAGE_LINES = 6
PAGE_OBJECT = 40 * KB
UPLOAD = 2 * KB * KB
SMALL = 30 * KB        # an object beside a long download
OTHERS = {"cubic": "a CUBIC flow", "bbr": "a BBR flow",
          "quic": "UDP with CUBIC's manners", "self": "another of its kind"}


@dataclasses.dataclass(frozen=True)
class Task:
    """One task: samples is how often a run of the cell does it, metric the
    one that judges the cell and better the good direction. state is "warm"
    when the subscriber has loaded something in the last minute."""

    name: str
    title: str
    kind: str
    metric: str = "ttlb"
    unit: str = "s"
    better: str = "less"
    samples: int = 1
    size: int = 0
    count: int = 1
    state: typing.Optional[str] = None
    other: typing.Optional[str] = None


def _objects():
    for name, size in OBJECTS.items():
        for state in "cold", "warm":
            title = name.replace("k", " KB").replace("m", " MB")
            yield Task(f"object-{name}-{state}", f"{title}, {state}",
                       "object", size=size, state=state,
                       samples=1 if name == "20m" else 3)


def _beside():
    for other, title in OTHERS.items():
        yield Task(f"beside-{other}", f"beside {title}", "beside", "jain",
                   "", "more", other=other)


TASKS = {task.name: task for task in (
    *_objects(),
    *(Task(f"parallel-{count}", f"{count} x 30 KB at a time", "parallel",
           size=SMALL, count=count, samples=2, state="cold")
      for count in PARALLEL),
    *(Task(f"page-{state}", f"page, 30 x 40 KB on 6 lines, {state}", "page",
           size=PAGE_OBJECT, count=PAGE_OBJECTS, state=state, samples=2)
      for state in ("cold", "warm")),
    Task("kept", "30 x 40 KB on one connection", "kept", size=PAGE_OBJECT,
         count=PAGE_OBJECTS, samples=2),
    Task("long", "long download", "long", "goodput", "Mbit/s", "more"),
    Task("upload-2m", "upload 2 MB", "upload", size=UPLOAD, samples=2,
         state="cold"),
    Task("both", "download and upload at once", "both", "goodput", "Mbit/s",
         "more"),
    *_beside())}
