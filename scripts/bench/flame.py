# SPDX-License-Identifier: GPL-2.0
"""Flame graphs: stacks of frames as an SVG picture.

Each box is a function, as wide as its share of all samples, on top of the one
that called it. Callers are sorted by name, not by time. A pointer held over a
box shows its whole name and its share.
"""

import html

WIDTH = 1200            # pixels
HEIGHT = 15             # of a box
HEAD = 40               # above the boxes, for the title
LETTER = 6.6            # width of one, about
NARROW = 0.5            # narrower boxes and those above them are left out

STYLE = ("text { font: 11px monospace; pointer-events: none } "
         "rect { stroke: #fff; stroke-width: 0.5 } "
         "#title { font-size: 16px }")


def tree(stacks):
    """Join stacks, lists of frames outermost first with a count behind them:
    a node is [count, {frame: node}]."""
    root = [0, {}]
    for *frames, count in stacks:
        node = root
        node[0] += count
        for frame in frames:
            node = node[1].setdefault(frame, [0, {}])
            node[0] += count
    return root


def boxes(node, left, level, scale):
    """The boxes above a node: (frame, count, left pixel, width, level)."""
    for frame, child in sorted(node[1].items()):
        width = child[0] * scale
        if width >= NARROW:
            yield frame, child[0], left, width, level
            yield from boxes(child, left, level + 1, scale)
        left += width


def picture(title, stacks, colour):
    """The SVG text; colour is a function from a frame to a colour."""
    root = tree(stacks)
    if not root[0]:
        raise ValueError(f"no samples for {title}")
    found = list(boxes(root, 0, 0, WIDTH / root[0]))
    height = HEAD + HEIGHT * (1 + max(box[4] for box in found))
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" '
             f'height="{height}" viewBox="0 0 {WIDTH} {height}">',
             f"<style>{STYLE}</style>",
             f'<text id="title" x="8" y="22">{html.escape(title)}</text>']
    for frame, count, left, width, level in found:
        top = height - HEIGHT * (level + 1)
        name = html.escape(frame)
        share = 100 * count / root[0]
        lines.append(
            f"<g><title>{name} ({share:.2f} %)</title>"
            f'<rect x="{left:.1f}" y="{top}" width="{width:.1f}" '
            f'height="{HEIGHT}" fill="{colour(frame)}"/>')
        room = int(width / LETTER)
        if room > 2:
            text = html.escape(frame.split(" ")[0][:room])
            lines.append(f'<text x="{left + 2:.1f}" '
                         f'y="{top + HEIGHT - 4}">{text}</text>')
        lines.append("</g>")
    return "\n".join([*lines, "</svg>"]) + "\n"
