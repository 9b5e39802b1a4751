#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Make cost.json and cost.md out of what the boots measured.

usage: report_cost.py FOLDER COMMAND RESULTS

Parts that were not measured stay as they are in the folder's cost.json. Fails
when something that was to be measured is missing; a target that is not reached
is no failure. Figures are millions of instructions per MB, thousands per
connection and transaction, instructions per packet, and bytes per connection.

FOLDER is that of the report, COMMAND the one that has measured, RESULTS the
folder with the guests' files. The exit code is 1 when a result is missing or
wrong, and 2 when the command line is wrong.
"""

import json
import pathlib

import results as res
from results import ORDER, TITLES, ReportError
from targets import FOLLOWED_TARGET, IDLE_TARGET, SCALE_TARGET, TARGETS
from works import KILO, STEERING, WORKS

INTRO = """# What a proxy costs, in instructions

{sentence}

Both ends and the gateway are namespaces of a guest with one CPU whose clock
counts instructions; a figure is the mean of two rounds that agree within 2 %.
"Adds" is what a contestant takes above plain forwarding in the same boot: pep
replaces forwarding, so that it can be negative. The factor behind it is the
contestant's instructions as a multiple of forwarding's, both ends included.
"""


# Parts that guests measure: name of the results, and name for -p.
PARTS = {"cost": "works", "steer": "steer", "record": "record",
         "idle": "idle", "scale": "scale"}
# Contestants of those parts that are about pep alone.
ONLY = {"steer": ("follow",), "record": ("pep",), "idle": ("pep", "follow"),
        "scale": ("pep",)}


def figure(runs, work, who):
    """Mean of the last two rounds of a work, in its unit."""
    rounds = runs.get(work, {}).get(who, [])
    if len(rounds) < 2:
        raise ReportError(f"{work} by {who}: {len(rounds)} rounds")
    return sum(run["cost"] for run in rounds[-2:]) / 2


def adds(results, contestant, work):
    """The cost that a contestant adds, in the work's unit, and its cost as a
    multiple of the base; None when that was not measured."""
    runs = results.get(contestant, {"runs": {}})["runs"]
    if work not in runs:
        return None
    base = figure(runs, work, "pass" if work in STEERING else "forward")
    own = figure(runs, work, contestant)
    return own - base, own / base


def digits(work):
    """Decimals that a work's figures are shown with."""
    return 2 if work.unit == "Minstr/MB" else 0 if work in \
        STEERING.values() else 1


def times(haproxy, pep):
    """HAProxy's added cost as a multiple of pep's, if both add any."""
    return f"{haproxy / pep:.1f} x" if min(haproxy, pep) > 0 else "-"


def table_adds(results):
    """The table of each contestant's added cost, as lines of Markdown."""
    there = [name for name in ORDER if name in results]
    base = results[there[-1] if there else "forward"]["runs"]
    head = ["work", "unit", "forwarding", *(TITLES[n] for n in there)]
    if {"haproxy", "pep"} <= set(there):
        head.append("HAProxy / pep")
    yield "| " + " | ".join(head) + " |"
    yield "|" + "---|" * len(head)
    for work in WORKS.values():
        places = digits(work)
        row = [work.title, work.unit,
               f"{figure(base, work.name, 'forward'):.{places}f}"]
        for name in there:
            more, multiple = adds(results, name, work.name)
            row.append(f"{more:+.{places}f} ({multiple:.2f} x)")
        if len(head) > 3 + len(there):
            row.append(times(adds(results, "haproxy", work.name)[0],
                             adds(results, "pep", work.name)[0]))
        yield "| " + " | ".join(row) + " |"


def value(results, target):
    """The number that a target bounds; None when it was not measured."""
    pep = adds(results, target.who, target.work)
    haproxy = adds(results, "haproxy", target.work)
    if not pep or (target.figure == "haproxy" and not haproxy):
        return None
    if target.figure == "haproxy":
        return haproxy[0] / pep[0]
    return pep[1] if target.figure == "total" else pep[0]


def judged(results):
    """Each target with its measured value: dictionaries."""
    for target in TARGETS:
        found = value(results, target)
        if found is not None:
            yield {"work": target.work, "who": target.who,
                   "figure": target.figure,
                   "target": target.text(), "value": found,
                   "met": target.met(found)}


def table_targets(results):
    """The table of pep's targets, as lines of Markdown."""
    yield "| work | unit | by | adds | target | measured | met |"
    yield "|---|---|---|---|---|---|---|"
    for item in judged(results):
        work = {**WORKS, **STEERING}[item["work"]]
        more = adds(results, item["who"], work.name)[0]
        yield (f"| {work.title} | {work.unit} | {TITLES[item['who']]} | "
               f"{more:+.{digits(work)}f} | "
               f"{item['target']} | {item['value']:.2f} | "
               f"{yes(item['met'])} |")


def copied(results):
    """Share of the payload relayed by pep that it copied, per work."""
    for work in WORKS.values():
        counts = [run["pep"] for run in
                  results["pep"]["runs"][work.name]["pep"]]
        bytes_ = {name: sum(count.get(f"bytes_{name}", 0) for count in counts)
                  for name in ("fragment", "copied")}
        total = sum(bytes_.values())
        if not total:
            raise ReportError(f"{work.name}: pep relayed nothing")
        yield work, 100 * bytes_["copied"] / total


def table_copied(results):
    """The table of copied payload, as lines of Markdown."""
    yield "| work | payload that pep copied |"
    yield "|---|---|"
    for work, share in copied(results):
        yield f"| {work.title} | {share:.2f} % |"


def idle_adds(idle, who="pep"):
    """Memory that an idle connection takes above plain forwarding, bytes: by
    MemAvailable and by the slab caches."""
    pep, base = idle["runs"][who], idle["runs"]["forward"]
    return (pep["bytes_each"] - base["bytes_each"],
            sum(pep["slab_bytes_each"].values()) -
            sum(base["slab_bytes_each"].values()))


def tenths(idle, who):
    """Cost of making a connection in each tenth of them, kinstr."""
    ends = idle["runs"][who]["parts_busy_ns"]
    each = idle["runs"][who]["connections"] / len(ends)
    return [(end - start) / KILO / each
            for start, end in zip([0, *ends], ends)]


def table_idle(idle):
    """The memory of idle connections, as lines."""
    more, slab = idle_adds(idle)
    yield "\n## Idle connections\n"
    yield (f"{idle['connections']} of them at the same time. pep's part "
           "(flow, both sockets, their struct socket and inode) is "
           f"{more:.0f} bytes each by MemAvailable, {slab:.0f} by the slab "
           f"caches; target: <= {IDLE_TARGET}: "
           f"{yes(max(more, slab) <= IDLE_TARGET)}.\n")
    yield "| slab cache | bytes per connection above forwarding |"
    yield "|---|---|"
    slabs = {who: run["slab_bytes_each"]
             for who, run in idle["runs"].items()}
    for name, size in sorted(slabs["pep"].items(), key=lambda i: -i[1]):
        above = size - slabs["forward"].get(name, 0)
        if above >= 1:
            yield f"| {name} | {above:.0f} |"
    yield from table_tenths(idle, 0)


def table_tenths(idle, places):
    """The cost of making connections, first and last, with decimals, as
    lines."""
    yield "\n| making a connection, kinstr | " + " | ".join(
        f"{10 * i}-{10 * i + 10} %" for i in range(10)) + " |"
    yield "|" + "---|" * 11
    for who in idle["runs"]:
        yield f"| {TITLES[who]} | " + " | ".join(
            f"{cost:.{places}f}" for cost in tenths(idle, who)) + " |"


def followed(idle):
    """The target of memory with the bytes of a followed connection, the higher
    one of two figures: dictionaries. While the connection may be split, an
    object for copies exists beside its entry in the table."""
    for who in idle["runs"]:
        if who != "forward":
            more, slab = idle_adds(idle, who)
            yield {"work": "followed", "who": who, "figure": "bytes",
                   "target": f"<= {FOLLOWED_TARGET}",
                   "value": max(more, slab), "bytes": more,
                   "slab_bytes": slab,
                   "met": max(more, slab) <= FOLLOWED_TARGET}


def table_followed(idle):
    """The memory of connections that are only followed, as lines."""
    yield "\n## Followed connections\n"
    yield (f"{idle['connections']} of them at the same time, without payload, "
           "between ends that have no sockets; bytes each above forwarding.\n")
    yield ("| by | MemAvailable | slab caches | target | met | caches above "
           "forwarding |")
    yield "|---|---|---|---|---|---|"
    base = idle["runs"]["forward"]["slab_bytes_each"]
    for item in followed(idle):
        caches = idle["runs"][item["who"]]["slab_bytes_each"]
        above = ", ".join(f"{name} {size - base.get(name, 0):.0f}"
                          for name, size in sorted(caches.items())
                          if size - base.get(name, 0) >= 1)
        yield (f"| {TITLES[item['who']]} | {item['bytes']:.0f} | "
               f"{item['slab_bytes']:.0f} | {item['target']} | "
               f"{yes(item['met'])} | {above} |")
    yield from table_tenths(idle, 1)


def table_scale(scale):
    """The gain of a second CPU, as lines."""
    yield "\n## Two CPUs\n"
    yield ("Plain emulation, no instructions counted: work done by two CPUs "
           "as a multiple of one CPU's, best rounds, in one boot. Target for "
           f"pep: >= {SCALE_TARGET}. Plain forwarding tells what the emulator "
           "and the host make of a second CPU.\n")
    yield "| work | forwarding | pep | met | pep spinning for locks |"
    yield "|---|---|---|---|---|"
    for name, run in scale["runs"].items():
        ratio = run["pep"]["ratio"]
        yield (f"| {WORKS[name].title} | {run['forward']['ratio']:.2f} x | "
               f"{ratio:.2f} x | {yes(ratio >= SCALE_TARGET)} | "
               f"{run['pep']['spinning']:.1f} % |")


def table_record(record):
    """The cost of a listener to ended flows, as lines."""
    runs = {"short": record["runs"]}
    yield "\n## Records of ended flows\n"
    yield "| short connections | kinstr/connection |"
    yield "|---|---|"
    for who, title in (("nobody", "nobody listens"),
                       ("monitor", "`pepadm monitor closed` does")):
        yield f"| {title} | {figure(runs, 'short', who):.1f} |"


def yes(met):
    """Is a target reached?"""
    return "yes" if met else "NO"


def joined(results, steered):
    """Results with steering added to the other works of its contestant."""
    found = dict(results)
    for who, steer in steered.items():
        other = results.get(who, {"runs": {}})
        found[who] = {**other, "runs": {**other["runs"], **steer["runs"]}}
    return found


def all_targets(found):
    """Each target of the works and of followed connections with its measured
    value, as a list."""
    idle = found["idle"].get("follow")
    return [*judged(joined(found["cost"], found["steer"])),
            *(followed(idle) if idle else ())]


def markdown(found, metas):
    """The whole text."""
    results, steered, record, idle, scale = found.values()
    parts = [INTRO.format(sentence=res.sentences(metas))]
    short = [TITLES[name] for name, result in results.items()
             if result["size"] == "short"]
    if short:
        parts.append(f"Of short runs, with less work: {', '.join(short)}.\n")
    if results:
        parts += table_adds(results)
    everything = joined(results, steered)
    if {"pep", "follow"} & set(everything):
        parts += ["\n## pep's targets\n", *table_targets(everything)]
    if "pep" in results:
        parts += ["", *table_copied(results)]
    if "pep" in record:
        parts += table_record(record["pep"])
    if "pep" in idle:
        parts += table_idle(idle["pep"])
    if "follow" in idle:
        parts += table_followed(idle["follow"])
    if "pep" in scale:
        parts += table_scale(scale["pep"])
    return "\n".join(parts) + "\n"


def merged(folder, parts, meta):
    """The parts, and the origin of each contestant's results in them; results
    that were not measured come from a former report in the folder."""
    path = pathlib.Path(folder, "cost.json")
    old = json.loads(path.read_text("utf-8")) if path.exists() else {}
    known = {key: old[key] for key in meta if key in old}
    found, metas = {}, {}
    for part, new in parts.items():
        former = old.get("results", {}).get(part, {})
        found[part] = {**{who: result for who, result in former.items()
                          if who in ONLY.get(part, (who,))}, **new}
        for who in found[part]:
            name = f"{PARTS[part]} of {TITLES[who]}"
            metas[name] = meta if who in new else \
                old.get("parts", {}).get(name, known)
    return found, metas


def report(folder, command, source):
    """Write both files and print the text."""
    parts = {part: res.read(source, part) for part in PARTS}
    everything = [result for part in parts.values()
                  for result in part.values()]
    if not everything:
        raise ReportError("no result")
    meta = res.about(everything[0], command)
    found, metas = merged(folder, parts, meta)
    raw = {**meta, "parts": metas, "targets": all_targets(found),
           "results": found}
    res.write(folder, "cost", raw, markdown(found, metas))


if __name__ == "__main__":
    res.program(__doc__, report)
