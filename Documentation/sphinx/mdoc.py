# SPDX-License-Identifier: GPL-2.0
"""Let Sphinx read manual pages in the mdoc language, by mandoc.

Sections of a page become sections of the document, so that they are in the
table of contents and in the search; the text between their headings is the
HTML that mandoc writes. A reference to a page that the site lacks is no link.
"""

import html
import re
import subprocess

from docutils import nodes
from sphinx.parsers import Parser

HEADING = re.compile(
    r'<section class="S[hs]">\s*<h[12] class="S[hs]" id="([^"]*)">(.*?)'
    r'</h[12]>|</section>', re.DOTALL)
REFERENCE = re.compile(r'<a class="Xr" href="man:([^"]*)">(.*?)</a>',
                       re.DOTALL)


def text_of(markup):
    """The text of some HTML, on one line."""
    return html.unescape(" ".join(re.sub(r"<[^>]+>", "", markup).split()))


def mandoc(page):
    """A manual page as HTML, without head and foot."""
    done = subprocess.run(
        ["mandoc", "-T", "html", "-O", "fragment,man=man:%N.%S"], input=page,
        capture_output=True, check=True, encoding="utf-8")
    return done.stdout.split('<div class="manual-text">')[1] \
        .rpartition("</div>")[0]


class MdocParser(Parser):
    """Make a document of a manual page."""

    supported = "mdoc",

    def parse(self, inputstring, document):
        """Fill a document with the sections of a page."""
        name, section = re.search(r"^\.Dt (\S+) (\S+)", inputstring,
                                  re.MULTILINE).groups()
        title = f"{name.lower()}({section})"
        inside = nodes.section(ids=["page"], names=[title], classes=["manual"])
        inside += nodes.title(title, title)
        document += inside
        start, text = 0, REFERENCE.sub(self.link, mandoc(inputstring))
        for found in HEADING.finditer(text):
            self.add_text(inside, text[start:found.start()])
            start = found.end()
            if found[1] is None:
                inside = inside.parent
                continue
            heading = text_of(found[2])
            deeper = nodes.section(ids=[found[1]], names=[heading])
            deeper += nodes.title(heading, heading)
            inside += deeper
            inside = deeper

    @staticmethod
    def add_text(section, text):
        """Add HTML to a section."""
        if text.strip():
            section += nodes.raw("", text, format="html")

    def link(self, found):
        """A link to another page of the site, else the bare text."""
        name = found[1].rpartition(".")[0]
        if f"man/{name}" in self.env.found_docs:
            return f'<a class="Xr" href="{name}.html">{found[2]}</a>'
        return found[2]


def setup(app):
    """Register the parser."""
    app.add_source_parser(MdocParser)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
