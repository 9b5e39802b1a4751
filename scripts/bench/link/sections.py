# SPDX-License-Identifier: GPL-2.0
"""The tables of the report as blocks."""

from blocks import Fold, Grid, Heading, Para, Toned
from figures import METRICS, factor, measured, metric, show
from table import OWN, SAME
from targets import judged

LONG = 12       # rows from which on a table is folded

# The tables of factors: title, and the kinds and states that each holds.
FACTORS = (
    ("Objects, cold", lambda work: work["kind"] == "object" and
     work["state"] == "cold"),
    ("Objects, warm", lambda work: work["kind"] == "object" and
     work["state"] != "cold"),
    ("Several objects and pages", lambda work: work["kind"] in
     ("parallel", "page", "kept")),
    ("Long transfers and company", lambda work: work["kind"] not in
     ("object", "parallel", "page", "kept")),
)

# Sections of metrics that no cell is judged by.
METRIC_SECTIONS = (
    ("Queueing delay under load",
     "A ping and small objects beside a long download.",
     ("ping_p50", "ping_p95", "second", "own")),
    ("Fairness", "A flow beside one of another kind; 1 is an even share.",
     ("jain", "goodput", "other")),
    ("Download and upload at once", "", ("up",)),
    ("Overhead and retransmissions", "", ("overhead", "retrans")),
    ("Residence in pep", "How long bytes wait in the proxy.",
     ("residence_p50", "residence_p99")),
)


def toned(text, gain):
    """A factor with its tone."""
    if gain is None or abs(gain - 1) <= SAME:
        return text
    return Toned(text, "good" if gain > 1 else "bad")


def links(table):
    """The links and their properties."""
    rows = []
    for name, link in table.links.items():
        rows.append((
            f"`{name}`", link["title"], link["group"],
            f"{link['rtt']:g} ms", f"{link['jitter']:g} ms",
            f"{link['rate']:g} / {link['uprate']:g} Mbit/s",
            f"{link['loss']:g} %", f"{link['queue']:g} BDP",
            f"{link['server']:g} ms", link["window"],
            f"IPv{link['family']}"))
    yield Heading(2, "Links")
    yield Para("Round trips are without queues; BDP is the bandwidth-delay "
               "product of the wireless link.")
    yield folded("The links", Grid((
        "link", "title", "group", "round trip", "jitter", "rate down / up",
        "loss", "queue", "server path", "receive window", "family"),
        tuple(rows)))


def folded(title, grid):
    """A grid, in a fold when it is long."""
    return Fold(title, (grid,)) if len(grid.rows) > LONG else grid


def targets(table):
    """The targets with their verdicts."""
    rows = []
    for verdict in judged(table):
        target = verdict.target
        text = verdict.text()
        rows.append((
            f"`{target.link}`" if target.link else "all",
            f"`{target.work}`" if target.work else "all", target.text(),
            "-" if verdict.value is None else target.shown(verdict.value),
            Toned(text, "good" if verdict.met else "bad")
            if verdict.met is not None else text, verdict.note or "-"))
    met = [verdict.met for verdict in judged(table)]
    yield Heading(2, "Targets")
    yield Para(f"All are for pep: {met.count(True)} met, "
               f"{met.count(False)} missed, {met.count(None)} not measured.")
    yield Grid(("link", "work", "target", "measured", "verdict", "note"),
               tuple(rows))


def factor_cell(table, link, work):
    """pep's factor over no proxy with its mark and tone."""
    gain = table.gain(link, work, OWN)
    if gain is None:
        return "-"
    return toned(factor(gain) + (" ~" if table.wide(link, work, OWN)
                                 else ""), gain)


def factor_grid(table, works):
    """The factors of some works, a row per link that has one."""
    rows = tuple((f"`{link}`", *(factor_cell(table, link, work)
                                 for work in works))
                 for link in table.links
                 if any(table.gain(link, work, OWN) for work in works))
    titles = (table.works[work]["title"] for work in works)
    return Grid(("link", *titles), rows)


def factors(table):
    """pep's factors over no proxy by link and work."""
    there = {work for _, work, _ in table.pairs()}
    yield Heading(2, "Factor over no proxy")
    yield Para("How many times better pep is than no proxy in front of a "
               "CUBIC server, in what the work is judged by: above 1 pep is "
               "better, below 1 no proxy is.")
    for title, holds in FACTORS:
        works = [name for name, work in table.works.items()
                 if name in there and holds(work)]
        if works:
            yield Heading(3, title)
            yield factor_grid(table, works)


def contestants(table, link, works, name=None):
    """The contestants with figures of a metric on a link."""
    return [who for who in table.contestants
            if any(table.stat(link, work, who, name) for work in works)]


def primary_grid(table, link):
    """Medians of the primary metrics of a link's works."""
    works = table.measured(link)
    there = contestants(table, link, works)
    rows = []
    for name in works:
        work = table.works[name]
        cells = (measured(table.stat(link, name, who), work["metric"],
                          work["unit"], table.wide(link, name, who))
                 for who in there)
        rows.append((work["title"], metric(work["metric"]).title, *cells,
                     show(table.floor(link, name), work["unit"]),
                     factor(table.over_floor(link, name, OWN))))
    return Grid(("work", "metric", *(table.contestants[who] for who in there),
                 "floor", "pep / floor"), tuple(rows))


def ttfb_grid(table, link):
    """Medians of the time to the first byte on a link; None without."""
    works = [work for work in table.measured(link)
             if contestants(table, link, [work], "ttfb")]
    there = contestants(table, link, works, "ttfb")
    rows = tuple((table.works[work]["title"],
                  *(measured(table.stat(link, work, who, "ttfb"), "ttfb")
                    for who in there)) for work in works)
    return Grid(("time to the first byte", *(table.contestants[who]
                                             for who in there)),
                rows) if rows else None


def per_link(table):
    """All contestants on every link, a fold per link."""
    yield Heading(2, "Every link")
    yield Para("Medians ± spread (two standard errors of the median); floor "
               "is what the link allows, and \"pep / floor\" is 1 where pep "
               "reaches it.")
    for name, link in table.links.items():
        if table.measured(name):
            grids = primary_grid(table, name), ttfb_grid(table, name)
            yield Fold(f"{name}: {link['title']}",
                       tuple(grid for grid in grids if grid))


def metric_grid(table, name):
    """Medians of one metric, a row per link and work; None without."""
    cells = [(link, work) for link in table.links
             for work in table.measured(link)
             if contestants(table, link, [work], name) and
             (name != "goodput" or table.works[work]["kind"] == "beside")]
    there = [who for who in table.contestants
             if any(table.stat(*cell, who, name) for cell in cells)]
    rows = tuple((f"`{link}`", f"`{work}`",
                  *(measured(table.stat(link, work, who, name), name)
                    for who in there)) for link, work in cells)
    return Grid(("link", "work", *(table.contestants[who] for who in there)),
                rows) if rows else None


def metric_section(table, title, intro, names):
    """A section of metrics; nothing when none was measured."""
    grids = [(METRICS[name], metric_grid(table, name)) for name in names]
    grids = [(kind, grid) for kind, grid in grids if grid]
    if not grids:
        return
    yield Heading(2, title)
    if intro:
        yield Para(intro)
    for kind, grid in grids:
        unit = f", {kind.unit}" if kind.unit else ""
        yield Heading(3, f"{kind.title[0].upper()}{kind.title[1:]}{unit}")
        yield folded(f"{len(grid.rows)} rows", grid)


def metrics(table):
    """All sections of metrics: pairs of a title and blocks."""
    for title, intro, names in METRIC_SECTIONS:
        yield title, list(metric_section(table, title, intro, names))
