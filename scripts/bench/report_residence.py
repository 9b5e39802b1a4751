#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make residence.json and residence.md out of sampled downloads.

usage: report_residence.py FOLDER COMMAND RESULTS

Figures are Mbit/s and ms.

FOLDER is that of the report, COMMAND the one that has measured, RESULTS the
folder with the guests' files. The exit code is 1 when a result is missing or
wrong, and 2 when the command line is wrong.
"""

import results as res
from results import ORDER, TITLES, ReportError

PAYLOAD = 1448 / 1514       # of a frame on the link
RATE = 10.0                 # Mbit/s of the link
GOODPUT = 98                # per cent of the link's payload rate, at least
CEILING = 100               # ms in pep, at most: one wireless round trip

INTRO = """# How long payload stays in a proxy

{sentence}
A download over a link of 10 Mbit/s and 100 ms round trip with a queue of 400
packets, from a server that is much faster. "On its way" is what the server has
sent and the subscriber has not received; "in the proxy" is that without what
is in the link's queue; both in ms of the link's rate. Plain forwarding has no
proxy: there it is what crosses the gateway and the ends. Goodput is the
subscriber's, with its share of what the link can carry.

pep is there with its default profile, BBR towards the subscriber, and with
`cc-wireless cubic`. BBR empties the link for 200 ms every ten seconds, to see
its round trip, and paces one per cent below what it has measured.

Targets for pep: goodput >= {goodput} %, p99 in the proxy <= {ceiling} ms.
"""


def lines(results):
    """The table, as lines of Markdown."""
    yield ("| | goodput, Mbit/s | of the link | on its way p50 / p99, ms | "
           "in the proxy p50 / p99, ms |")
    yield "|---|---|---|---|---|"
    there = [who for who in ORDER if who in results]
    runs = {"forward": results[there[-1]]["runs"]["forward"],
            **{name: run for who in there
               for name, run in results[who]["runs"].items()
               if name != "forward"}}
    for who, run in runs.items():
        rate = run["goodput"] / 1e6
        times = " | ".join(
            f"{run[where]['p50']:.0f} / {run[where]['p99']:.0f}"
            for where in ("whole", "inside"))
        yield (f"| {TITLES[who]} | {rate:.2f} | "
               f"{100 * rate / RATE / PAYLOAD:.1f} % | {times} |")


def report(folder, command, source):
    """Write the report of the results in a folder into another one."""
    results = res.read(source, "residence")
    if not results:
        raise ReportError("no result")
    meta = res.about(next(iter(results.values())), command)
    intro = INTRO.format(sentence=res.sentence(meta), goodput=GOODPUT,
                         ceiling=CEILING)
    res.write(folder, "residence", {**meta, "results": results},
              "\n".join([intro, *lines(results)]) + "\n")


if __name__ == "__main__":
    res.program(__doc__, report)
