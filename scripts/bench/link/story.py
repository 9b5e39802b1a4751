# SPDX-License-Identifier: GPL-2.0
"""The whole report as blocks: words, tables and plots in their order."""

import plots
import sections
import words
from blocks import Gallery, Heading, Para, Plot

TITLE = "What a subscriber behind a wireless link gets"
READING = """The figures are of simulated time: subscriber, wireless link, \
gateway and server run in User Mode Linux, whose clock advances with the \
events of the simulation and not with the load of the host. A cell is a work \
over a link by a contestant; its figure is the median over all samples of all \
repeats, ± half of its 95 % confidence interval, and in brackets the 95th \
percentile of times. "~" marks a cell whose \
spread, that half over the median, exceeds {wide:g} %. A factor is that over \
no proxy in front of a CUBIC server, above 1 when better."""


def sentence(about):
    """The origin of the figures as a sentence."""
    packages = ", ".join(f"{name} {version}" for name, version
                         in sorted(about["packages"].items()))
    return (f"Written by `{about['command']}` in {about['minutes']:.0f} "
            f"minutes; set {about['set']}, seed {about['seed']}, kernel "
            f"{about['kernel']}, on {about['host']}, {packages}.")


def main_plots(table):
    """The two plots that are files, too."""
    times = plots.time_plot(table) or plots.empty()
    losses = plots.loss_plot(table) or plots.empty()
    return (Plot(times, "Completion time against the size of an object, "
                 "both on logarithmic scales.", "link-time.svg"),
            Plot(losses, "Goodput of a long download against loss, by the "
                 "round trip of the wireless link; above: pep's factor over "
                 "no proxy.", "link-loss.svg"))


def present(table):
    """The contestants that have a cell: pairs of name and title."""
    there = {cell.contestant for cell in table.cells.values()}
    return [(name, title) for name, title in table.contestants.items()
            if name in there]


def gallery(table):
    """Completion time against size, two small plots per link."""
    small = [plots.time_small(table, link, state)
             for link, item in table.links.items()
             if item["group"] != plots.SPARE for state in ("cold", "warm")]
    small = tuple(Plot(text, "") for text in small if text)
    if small:
        yield Heading(2, "Completion time on every link")
        yield Gallery(small, (*present(table), (
            "floor", "floor: what the link allows")))


def queue(table):
    """A ping against the depth of the queue."""
    text = plots.queue_plot(table)
    if text:
        yield Plot(text, "A ping beside a long download against the depth "
                   "of the link's queue.", "link-queue.svg")


def timelines(table):
    """The time lines of flows."""
    if table.timelines:
        yield Heading(2, "A flow over time")
    for line in table.timelines:
        text = plots.timeline_plot(line)
        if text:
            yield Plot(text, f"{line['work']} on {line['link']} by "
                       f"{table.contestants[line['contestant']]}: "
                       "congestion window, bytes in flight and queues.")


def failures(table):
    """Runs of cells that came to no result."""
    if table.failures:
        yield Heading(2, "Runs without a result")
        yield Para("; ".join(" ".join(failure) for failure in table.failures))


def blocks(table):
    """The whole report as blocks."""
    wide = 100 * table.header.get("wide", 0.1)
    yield Heading(1, TITLE)
    yield Para(sentence(table.about))
    yield Para(READING.format(wide=wide))
    yield from words.blocks(table)
    yield from failures(table)
    yield from main_plots(table)
    yield from sections.targets(table)
    yield from sections.links(table)
    yield from sections.factors(table)
    yield from sections.per_link(table)
    yield from gallery(table)
    for title, section in sections.metrics(table):
        yield from section
        if title.startswith("Queueing") and section:
            yield from queue(table)
    yield from timelines(table)
