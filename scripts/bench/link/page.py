# SPDX-License-Identifier: GPL-2.0
"""The report as one page of HTML that needs nothing else."""

import html
import re
import textwrap

from blocks import Fold, Gallery, Grid, Heading, Items, Para, Plot, Toned
from canvas import COLOURS, FLOOR

WIDTH = 200             # columns of the page's source

STYLE = """
body{font:16px/1.5 system-ui,sans-serif;color:#222;background:#fff;
max-width:72rem;margin:0 auto;padding:0 1rem 3rem}
h1,h2,h3{line-height:1.2}h2{margin-top:2.5rem;border-bottom:1px solid #ccc}
code{font-size:.9em;background:#f2f2f2;padding:0 .2em}
.scroll{overflow-x:auto;margin:1rem 0}
table{border-collapse:collapse;font-size:.85rem}
th,td{padding:.25rem .6rem;text-align:right;border-bottom:1px solid #e3e3e3;
white-space:nowrap;font-variant-numeric:tabular-nums}
th{vertical-align:bottom;background:#f6f6f6}
thead th{white-space:normal;min-width:4.2rem}
th:first-child,td:first-child{text-align:left;position:sticky;left:0;
background:#fff}
.good{background:#d9ecf7}.bad{background:#fbe0cc;font-weight:bold}
details{margin:.6rem 0}summary{cursor:pointer;font-weight:600}
figure{margin:1rem 0}figcaption{font-size:.85rem;color:#555}
svg{max-width:100%;height:auto;background:#fff}
.gallery{display:flex;flex-wrap:wrap;gap:.5rem}.gallery figure{margin:0}
.key span{display:inline-block;margin-right:1.2em;font-size:.85rem}
.key i{display:inline-block;width:1.6em;height:.3em;margin-right:.4em;
vertical-align:middle}
nav a{margin-right:1em}
"""

FRAME = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
{body}
</body>
</html>
"""


def text(words):
    """Text with its `code`, escaped."""
    return re.sub(r"`([^`]*)`", r"<code>\1</code>", html.escape(words))


def anchor(words):
    """The anchor of a heading."""
    return re.sub(r"[^a-z0-9]+", "-", words.lower()).strip("-")


def cell(content, tag="td"):
    """A cell of a table."""
    if isinstance(content, Toned):
        return f'<{tag} class="{content.tone}">{text(content.text)}</{tag}>'
    return f"<{tag}>{text(content)}</{tag}>"


def heading(block):
    """A heading with its anchor."""
    return (f'<h{block.level} id="{anchor(block.text)}">{text(block.text)}'
            f"</h{block.level}>")


def grid(block):
    """A table that scrolls sideways."""
    head = "".join(cell(name, "th") for name in block.head)
    rows = "\n".join("<tr>" + "".join(map(cell, row)) + "</tr>"
                     for row in block.rows)
    return (f'<div class="scroll"><table><thead><tr>{head}</tr></thead>'
            f"<tbody>\n{rows}\n</tbody></table></div>")


def figure(block):
    """A plot with its caption."""
    caption = f"<figcaption>{text(block.caption)}</figcaption>" \
        if block.caption else ""
    return f"<figure>{block.svg}{caption}</figure>"


def gallery(block):
    """Small plots below the key of their colours."""
    colours = {**COLOURS, "floor": FLOOR}
    key = "".join(f'<span><i style="background:{colours.get(name, FLOOR)}">'
                  f"</i>{text(title)}</span>" for name, title in block.key)
    plots = "\n".join(map(figure, block.plots))
    return f'<p class="key">{key}</p><div class="gallery">{plots}</div>'


def part(block):
    """A block as HTML."""
    kinds = {
        Heading: heading, Grid: grid, Plot: figure, Gallery: gallery,
        Para: lambda block: f"<p>{text(block.text)}</p>",
        Items: lambda block: "<ul>" + "\n".join(
            f"<li>{text(item)}</li>" for item in block.items) + "</ul>",
        Fold: lambda block: f"<details><summary>{text(block.title)}"
        "</summary>\n" + "\n".join(map(part, block.blocks)) + "</details>"}
    return kinds[type(block)](block)


def contents(blocks):
    """The anchors of the second level as a line of links."""
    heads = [block.text for block in blocks
             if isinstance(block, Heading) and block.level == 2]
    return "<nav>" + "\n".join(f'<a href="#{anchor(head)}">{text(head)}</a>'
                               for head in heads) + "</nav>"


def page(blocks):
    """The whole page. Long lines are folded: tools take a page with any for
    the output of another program."""
    body = [part(block) for block in blocks]
    body.insert(1, contents(blocks))
    whole = FRAME.format(title=text(blocks[0].text), style=STYLE,
                         body="\n".join(body))
    return "\n".join(
        textwrap.fill(line, WIDTH, break_long_words=False,
                      break_on_hyphens=False) if len(line) > WIDTH else line
        for line in whole.split("\n"))
