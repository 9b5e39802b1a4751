# SPDX-License-Identifier: GPL-2.0
"""The plots of the report; each function draws one and returns its SVG, or
None when the table has nothing to draw."""

from canvas import (COLOURS, FLOOR, decimals, legend, panels, plain, style,
                    svg)
from figures import factor
from table import OWN

LOSS_WHO = ("cubic", "bbr", "haproxy", "pep")
README_LINKS = ((60, 1), (600, 0.1))    # round trip in ms, loss in per cent
SPARE = "cross"                         # the group that gets no plots


def sized(table, link, state):
    """Works of one object in a state with figures on a link, by size."""
    return sorted((name for name in table.measured(link)
                   if table.works[name]["kind"] == "object" and
                   table.works[name]["state"] == state),
                  key=lambda name: table.works[name]["size"])


def size_label(size):
    """A size as a tick shows it."""
    return f"{size / 1e6:g} MB" if size >= 1e6 else f"{size / 1e3:g} KB"


def draw_times(axes, table, link, state):
    """Completion time against object size in one panel."""
    names = sized(table, link, state)
    sizes = [table.works[name]["size"] for name in names]
    floors = [table.floor(link, name) for name in names]
    if any(floors):
        axes.plot(sizes, [floor or float("nan") for floor in floors],
                  color=FLOOR, linestyle="--", linewidth=1.4,
                  label="floor: what the link allows")
    for who, title in table.contestants.items():
        points = [(size, table.median(link, name, who))
                  for size, name in zip(sizes, names)]
        points = [point for point in points if point[1] is not None]
        if points:
            axes.plot(*zip(*points), label=title, **style(who))
    axes.set_xscale("log")
    axes.set_yscale("log")
    plain(axes.xaxis, sizes, [size_label(size) for size in sizes])
    decimals(axes.yaxis)


def time_small(table, link, state):
    """One small multiple: completion time against size, without legend."""
    if not sized(table, link, state):
        return None
    figure, ((axes,),) = panels(330, 250, place=(0.155, 0.1, 0.97, 0.91))
    draw_times(axes, table, link, state)
    axes.tick_params(labelsize=9)
    axes.set_title(f"{link}, {state}", loc="left")
    axes.set_ylabel("completion, s")
    return svg(figure, f"time-{link}-{state}")


def chosen(table):
    """The links of the time plot: those of the README, or the first with
    objects."""
    there = [link for link in table.links
             if sized(table, link, "cold") or sized(table, link, "warm")]
    found = []
    for rtt, loss in README_LINKS:
        found += [link for link in there
                  if table.links[link]["rtt"] == rtt and
                  table.links[link]["loss"] == loss][:1]
    return found or there[:1]


def time_plot(table):
    """Completion time against size: a row per link, cold and warm apart."""
    links = chosen(table)
    if not links:
        return None
    figure, rows = panels(760, 300 * len(links) + 70, len(links), 2,
                          sharex=True, sharey="row")
    for link, row in zip(links, rows):
        for state, axes in zip(("cold", "warm"), row):
            if sized(table, link, state):
                draw_times(axes, table, link, state)
            axes.set_title(f"{table.links[link]['title']}: {state}",
                           loc="left")
        row[0].set_ylabel("time to the last byte, s")
    for axes in rows[-1]:
        axes.set_xlabel("size of the object")
    room(figure, 62 / (300 * len(links) + 70))
    legend(figure, rows.flat, 3)
    return svg(figure, "link-time")


def room(figure, share):
    """Keep a share of the figure's height free below for its legend."""
    figure.get_layout_engine().set(rect=(0, share, 1, 1 - share))


def long_work(table):
    """The name of the long download; None without one."""
    return next((name for name, work in table.works.items()
                 if work["kind"] == "long"), None)


def by_loss(table, work):
    """Links of the grid with figures of a work: lists by round trip, each
    in the order of loss."""
    found = {}
    for name, link in table.links.items():
        if link["group"] == "grid" and work in table.measured(name):
            found.setdefault(link["rtt"], []).append(name)
    return {rtt: sorted(names, key=lambda name: table.links[name]["loss"])
            for rtt, names in sorted(found.items())}


def draw_loss(axes, table, work, links):
    """Goodput against loss in one panel, with pep's factors above."""
    rate = max(table.links[link]["rate"] for link in links)
    places = range(len(links))
    floors = [table.floor(link, work) for link in links]
    if all(floors):
        axes.plot(places, floors, color=FLOOR, linestyle="--",
                  linewidth=1.4, label="what the link allows")
    for who in LOSS_WHO:
        points = [(place, table.median(link, work, who))
                  for place, link in zip(places, links)]
        points = [point for point in points if point[1] is not None]
        if points:
            axes.plot(*zip(*points), label=table.contestants[who],
                      **style(who))
    for place, link in zip(places, links):
        gain = table.gain(link, work, OWN)
        if gain is not None:
            axes.text(place, 1.13 * rate, f"{factor(gain)} x", fontsize=8,
                      ha="center", color=COLOURS[OWN])
    plain(axes.xaxis, places,
          [f"{table.links[link]['loss']:g}" for link in links])
    axes.set_xlim(-0.3, len(links) - 0.7)
    axes.set_ylim(0, 1.22 * rate)


def loss_plot(table):
    """Goodput of a long download against loss, a panel per round trip."""
    work = long_work(table)
    rows = by_loss(table, work) if work else {}
    if not rows:
        return None
    columns = min(len(rows), 2)
    lines = -(-len(rows) // columns)
    height = 230 * lines + 70
    figure, grid = panels(380 * columns, height, lines, columns, sharey=True)
    for axes in list(grid.flat)[len(rows):]:
        axes.set_visible(False)
    for axes, (rtt, links) in zip(grid.flat, rows.items()):
        draw_loss(axes, table, work, links)
        axes.set_title(f"round trip {rtt:g} ms", loc="left")
        axes.set_xlabel("loss, %")
    for row in grid:
        row[0].set_ylabel("goodput, Mbit/s")
    room(figure, 46 / height)
    legend(figure, grid.flat, 3)
    return svg(figure, "link-loss")


def alike(table, link):
    """The properties of a link except title, group and queue depth."""
    return {key: value for key, value in table.links[link].items()
            if key not in ("title", "group", "queue")}


def queue_links(table, work):
    """The links that differ in the depth of the queue alone, by depth."""
    named = [link for link, item in table.links.items()
             if item["group"] == "queue" and work in table.measured(link)]
    families = [[other for other in table.links
                 if table.links[other]["group"] in ("queue", "grid") and
                 alike(table, other) == alike(table, link) and
                 work in table.measured(other)] for link in named]
    found = max(families, key=len, default=[])
    depths = {table.links[link]["queue"]: link for link in reversed(found)}
    return [depths[depth] for depth in sorted(depths)]


def queue_plot(table):
    """A ping under load against the depth of the queue."""
    work = long_work(table)
    links = queue_links(table, work) if work else []
    if len(links) < 2:
        return None
    figure, ((axes,),) = panels(560, 350)
    for who, title in table.contestants.items():
        points = [(table.links[link]["queue"],
                   table.median(link, work, who, "ping_p50"))
                  for link in links]
        points = [point for point in points if point[1] is not None]
        if points:
            axes.plot(*zip(*points), label=title, **style(who))
    axes.set_xscale("log")
    axes.set_yscale("log")
    depths = [table.links[link]["queue"] for link in links]
    plain(axes.xaxis, depths, [f"{depth:g}" for depth in depths])
    decimals(axes.yaxis)
    axes.set_xlabel("depth of the queue, bandwidth-delay products")
    axes.set_ylabel("ping beside a long download, ms")
    axes.legend(fontsize=9)
    return svg(figure, "link-queue")


def thinned(times, values, most=400):
    """At most so many points of a time line, evenly picked."""
    step = -(-len(times) // most) or 1
    return times[::step], [value / 1e3 for value in values[::step]]


# The panels of a time line: title, then part, key, label and colour.
LANES = (
    ("wireless leg", (("wireless", "cwnd", "congestion window", "pep"),
                      ("wireless", "flight", "in flight", "bbr"))),
    ("server", (("server", "cwnd", "congestion window", "pep"),
                ("server", "flight", "in flight", "bbr"))),
    ("queues", (("link_queue", "bytes", "queue on the link", "cubic"),
                ("waiting", "bytes", "waiting in pep", "pair"))))


def timeline_plot(timeline):
    """Windows, bytes in flight and queues of one flow over time."""
    figure, rows = panels(760, 560, len(LANES), 1, sharex=True)
    drawn = False
    for (axes,), (title, lines) in zip(rows, LANES):
        for part, key, label, colour in lines:
            times = timeline.get(part, {}).get("t", [])
            if times:
                values = timeline[part][key]
                axes.plot(*thinned(times, values), label=label,
                          color=COLOURS[colour], linewidth=1.3)
                axes.legend(fontsize=9, loc="lower right", ncol=2,
                            bbox_to_anchor=(1, 0.97), borderaxespad=0)
                drawn = True
        axes.set_title(title, loc="left")
        axes.set_ylabel("KB")
        axes.set_ylim(bottom=0)
    rows[-1][0].set_xlabel("time since the start of the flow, s")
    return svg(figure, "timeline-{link}-{work}".format(**timeline)) \
        if drawn else None


def empty():
    """A plot with the note that nothing was measured for it."""
    figure, ((axes,),) = panels(380, 80)
    axes.set_axis_off()
    axes.text(0.5, 0.5, "not measured in this run", ha="center")
    return svg(figure, "link-empty")
