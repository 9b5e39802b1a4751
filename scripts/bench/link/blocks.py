# SPDX-License-Identifier: GPL-2.0
"""The parts that a report consists of, and how Markdown shows them.

Text has one mark, `code`; a cell of a grid is text or a Toned text.
"""

import dataclasses
import typing


@dataclasses.dataclass(frozen=True)
class Heading:
    """A heading; level 1 is the title."""

    level: int
    text: str


@dataclasses.dataclass(frozen=True)
class Para:
    """A paragraph."""

    text: str


@dataclasses.dataclass(frozen=True)
class Items:
    """A list of sentences."""

    items: tuple


@dataclasses.dataclass(frozen=True)
class Toned:
    """Text of a cell that is "good" or "bad"."""

    text: str
    tone: str


@dataclasses.dataclass(frozen=True)
class Grid:
    """A table: its heads and its rows of cells."""

    head: tuple
    rows: tuple


@dataclasses.dataclass(frozen=True)
class Fold:
    """Blocks that are shown when the reader opens them."""

    title: str
    blocks: tuple


@dataclasses.dataclass(frozen=True)
class Plot:
    """A plot: the text of its SVG, its caption and, when it is a file of
    its own, the file's name. Markdown shows only those that are files."""

    svg: str
    caption: str
    file: typing.Optional[str] = None


@dataclasses.dataclass(frozen=True)
class Gallery:
    """Small plots side by side below one key of colours."""

    plots: tuple
    key: tuple


def cell(content):
    """A cell in Markdown: a bad figure is bold."""
    if isinstance(content, Toned):
        return f"**{content.text}**" if content.tone == "bad" \
            else content.text
    return content


def row(cells):
    """A row in Markdown."""
    return "| " + " | ".join(map(cell, cells)) + " |"


def lines(block):
    """A block as lines of Markdown."""
    if isinstance(block, Heading):
        yield f"{'#' * block.level} {block.text}"
    elif isinstance(block, Para):
        yield block.text
    elif isinstance(block, Items):
        yield from (f"- {item}" for item in block.items)
    elif isinstance(block, Grid):
        yield row(block.head)
        yield "|---" + "|---:" * (len(block.head) - 1) + "|"
        yield from map(row, block.rows)
    elif isinstance(block, Fold):
        yield f"<details><summary>{block.title}</summary>\n"
        yield markdown(block.blocks) + "\n</details>"
    elif isinstance(block, Plot) and block.file:
        yield f"![{block.caption}]({block.file})"


def markdown(blocks):
    """Blocks as Markdown, with an empty line between two of them."""
    texts = ("\n".join(lines(block)) for block in blocks)
    return "\n\n".join(text for text in texts if text) + "\n"
