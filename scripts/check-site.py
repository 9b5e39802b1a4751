#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check the links inside a folder of HTML pages.

usage: check-site.py FOLDER

Every link and picture of a page must be a file of FOLDER, and an anchor behind
a link must be on the page that the link leads to. Addresses of the web are not
loaded, but nothing that a page needs to be shown may be one of them. Each
mistake is a line on standard error, and the exit code is 1 then; it is 2 when
the command line is wrong.
"""

import html.parser
import pathlib
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from commandline import arguments, refuse  # noqa: E402 pylint: disable=wrong-import-position


class Page(html.parser.HTMLParser):
    """The anchors of a page, and its references: (line, tag, target)."""

    def __init__(self, path):
        super().__init__()
        self.anchors = set()
        self.references = []
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note the anchors and references of an element."""
        for name, value in attrs:
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src") and value is not None:
                self.references.append((self.getpos()[0], tag, value))


def mistake_of(pages, path, tag, target):
    """Why a reference of a page is wrong, or nothing."""
    parts = urllib.parse.urlsplit(target)
    if parts.scheme or parts.netloc:
        return "" if tag == "a" else "loaded from elsewhere"
    aim = path
    if parts.path:
        aim = (path.parent / urllib.parse.unquote(parts.path)).resolve()
    if not aim.is_file():
        return "no such file"
    anchor = urllib.parse.unquote(parts.fragment)
    if anchor and aim in pages and anchor not in pages[aim].anchors:
        return "no such anchor"
    return ""


def main():
    """Check the pages of the folder of the command line."""
    folder = pathlib.Path(*arguments(__doc__, 1, 1)).resolve()
    if not folder.is_dir():
        refuse(__doc__, f"no such folder: {folder}")
    pages = {path: Page(path) for path in sorted(folder.rglob("*.html"))}
    found = [f"{path.relative_to(folder)}:{line}: {why}: {target}"
             for path, page in pages.items()
             for line, tag, target in page.references
             if (why := mistake_of(pages, path, tag, target))]
    if not pages:
        found.append(f"{folder}: no pages")
    for mistake in found:
        print(mistake, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
