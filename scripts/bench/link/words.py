# SPDX-License-Identifier: GPL-2.0
"""The report in plain words: sentences made from the figures."""

import statistics

from blocks import Heading, Items, Para
from figures import METRICS, factor, show
from table import BASE, OWN, RIVAL, SAME

MOST = 20       # cells that a list names before it refers to the tables
NAMES = 12      # links that a sentence names before it counts them
SIDE = ("ttfb", "up", "ping_p50", "ping_p95", "second", "own", "other",
        "overhead", "retrans")


def counted(count, noun):
    """A number with its noun."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(names):
    """Names of links as code, or how many they are."""
    if len(names) > NAMES:
        return counted(len(names), "link")
    return ", ".join(f"`{name}`" for name in names)


def capped(sentences):
    """At most MOST sentences, and how many there are beyond."""
    if len(sentences) > MOST:
        rest = len(sentences) - MOST
        return (*sentences[:MOST],
                f"and {counted(rest, 'cell')} more; see the tables.")
    return tuple(sentences)


def values(table, link, work, who, base=BASE):
    """The medians of two contestants: "0.42 s instead of 1.30 s"."""
    unit = table.works[work]["unit"]
    name = "Jain's index " if table.works[work]["metric"] == "jain" else ""
    return (f"{name}{show(table.median(link, work, who), unit)} instead of "
            f"{show(table.median(link, work, base), unit)}")


def rival(table, link, work):
    """HAProxy's median in a cell, as the end of a sentence."""
    value = table.median(link, work, RIVAL)
    if value is None:
        return ""
    return (f"; HAProxy {show(value, table.works[work]['unit'])} "
            f"(factor {factor(table.gain(link, work, RIVAL))})")


def place(table, link):
    """A link by its title and name."""
    return f"{table.links[link]['title']} (`{link}`)"


def mark(table, link, work):
    """The mark of a cell that scatters."""
    wide = table.wide(link, work, OWN) or table.wide(link, work, BASE)
    return " ~" if wide else ""


def by_work(cells):
    """Cells by work: lists of links and factors."""
    found = {}
    for link, work, gain in cells:
        found.setdefault(work, []).append((link, gain))
    return found


def overall(table, cells):
    """A sentence on all cells."""
    better = sum(gain > 1 + SAME for *_, gain in cells)
    worse = sum(gain < 1 - SAME for *_, gain in cells)
    middle = statistics.median(gain for *_, gain in cells)
    return (f"Of {counted(len(cells), 'cell')} that pep and no proxy share, "
            f"pep is better in {better}, equal within {100 * SAME:g} % in "
            f"{len(cells) - better - worse} and worse in {worse}; the middle "
            f"factor is {factor(middle)}.")


def help_of(table, work, found, total):
    """A sentence on a work that pep does better."""
    gains = sorted(gain for _, gain in found)
    link = max(found, key=lambda pair: pair[1])[0]
    span = factor(gains[0]) if len(gains) == 1 else \
        (f"{factor(gains[0])} to {factor(gains[-1])}, in the middle "
         f"{factor(statistics.median(gains))}")
    return (f"{table.works[work]['title']}: better on {len(found)} of "
            f"{counted(total, 'link')}, by a factor of {span}; most on "
            f"{place(table, link)}: {values(table, link, work, OWN)}"
            f"{mark(table, link, work)}{rival(table, link, work)}.")


def helps(table, cells):
    """Sentences on where pep helps, the works with most links first."""
    totals = {work: len(found) for work, found in by_work(cells).items()}
    better = by_work(cell for cell in cells if cell[2] > 1 + SAME)
    order = sorted(better, key=lambda work: -statistics.median(
        gain for _, gain in better[work]))
    return tuple(help_of(table, work, better[work], totals[work])
                 for work in order)


def same(table, cells):
    """Sentences on where pep makes no difference, by work."""
    equal = by_work(cell for cell in cells if abs(cell[2] - 1) <= SAME)
    return tuple(f"{table.works[work]['title']}: on "
                 f"{listed([link for link, _ in found])}."
                 for work, found in equal.items())


def loss_of(table, link, work, gain, base=BASE):
    """A sentence on one cell that pep does worse."""
    tail = rival(table, link, work) if base == BASE else ""
    return (f"{table.works[work]['title']}, {place(table, link)}: "
            f"{values(table, link, work, OWN, base)}, a factor of "
            f"{factor(gain)}{mark(table, link, work)}{tail}.")


def worse(table, base):
    """Sentences on cells that pep does worse than another, worst first."""
    found = sorted((cell for cell in table.pairs(base=base)
                    if cell[2] < 1 - SAME), key=lambda cell: cell[2])
    return capped([loss_of(table, *cell, base) for cell in found])


def side_of(table, name):
    """A sentence on pep's effect on a metric that no cell is judged by;
    None when nothing is worse or nothing was measured."""
    kind = METRICS[name]
    cells = [(table.gain(link, work, OWN, name=name), link, work)
             for link in table.links for work in table.measured(link)]
    cells = [cell for cell in cells if cell[0] is not None and
             table.works[cell[2]]["metric"] != name]
    bad = sorted(cell for cell in cells if cell[0] < 1 - SAME)
    if not bad:
        return None
    _, link, work = bad[0]
    pair = (show(table.median(link, work, who, name) * kind.scale, kind.unit)
            for who in (OWN, BASE))
    return (f"{kind.title[0].upper()}{kind.title[1:]}: worse with pep in "
            f"{len(bad)} of {counted(len(cells), 'cell')}, most in "
            f"{table.works[work]['title']} on {place(table, link)}: "
            f"{' instead of '.join(pair)}.")


def compared(table, who, base):
    """A sentence on one contestant against another, over all cells."""
    cells = list(table.pairs(who, base))
    if not cells:
        return None
    ahead = sum(gain > 1 + SAME for *_, gain in cells)
    behind = sum(gain < 1 - SAME for *_, gain in cells)
    middle = statistics.median(gain for *_, gain in cells)
    return (f"{table.contestants[who]} against {table.contestants[base]}: "
            f"better in {ahead}, worse in {behind} of "
            f"{counted(len(cells), 'cell')}, middle factor {factor(middle)}.")


def against_rivals(table):
    """Sentences on pep against every other contestant."""
    others = [who for who in table.contestants if who not in (OWN, BASE)]
    found = [compared(table, OWN, who) for who in others]
    return tuple(sentence for sentence in found if sentence)


def listing(title, items, otherwise):
    """A heading and its sentences, or the sentence for none."""
    yield Heading(3, title)
    yield Items(items) if items else Para(otherwise)


def blocks(table):
    """The page in plain words as blocks."""
    yield Heading(2, "In plain words")
    cells = list(table.pairs())
    if not cells:
        yield Para("No cell was measured both with pep and without a proxy.")
        return
    yield Para(overall(table, cells))
    yield from listing("Where pep helps", helps(table, cells), "Nowhere.")
    yield from listing("Where it makes no difference", same(table, cells),
                       "Every cell differs.")
    sides = [side_of(table, name) for name in SIDE]
    yield from listing("Where it hurts", (
        *worse(table, BASE), *(side for side in sides if side)), "Nowhere.")
    yield from listing("Against the others", against_rivals(table),
                       "Nobody else was measured.")
    if any(table.pairs(base=RIVAL)):
        yield from listing("Where HAProxy is better than pep",
                           worse(table, RIVAL), "Nowhere.")
