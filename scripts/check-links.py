#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check the references of the documents to files, chapters and addresses.

usage: check-links.py LIST

LIST is a file with the names of all files of the repository, one a line, seen
from the present folder. README.md, CONTRIBUTING.rst and the documents below
Documentation refer by links of Markdown, by paths that begin with a folder of
the repository, by file names in literal text and by chapter "NAME". Each of
these must exist; "*", "[ch]" and words in capitals stand for any text in a
path. Addresses of the web must have the form of one; nothing is loaded. Each
mistake is a line on standard error, and the exit code is 1 then; it is 2 when
the command line is wrong.
"""

import fnmatch
import pathlib
import posixpath
import re
import sys
import urllib.parse

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from commandline import arguments, refuse  # noqa: E402 pylint: disable=wrong-import-position

DOCUMENTS = re.compile(r"README\.md|CONTRIBUTING\.rst"
                       r"|Documentation/.+\.(?:rst|md|[458])")
LINK = re.compile(r"\[[^][]*\]\(([^()\s]+)\)")
ADDRESS = re.compile(r"\bhttps?:[^\s<>\"')\]]*")
CHAPTER = re.compile(r'\bchapter\s+"([^"]+)"')
LITERAL = re.compile(r"``?([\w.*/-]*\w"
                     r"\.(?:bt|c|h|json|md|py|rst|sh|svg|ya?ml))``?")
PLACEHOLDER = re.compile(r"[A-Z]{4,}(?=[._])")
UNDERLINE = re.compile(r"([=\-~^\"'`])\1+")

# Made by a build, or of the kernel's own sources.
ELSEWHERE = {"kmod/pep.ko", "kmod/pep_bbr.ko", "tools/bench/load",
             "tools/net/ynl"}


def headings(name, text):
    """The headings of a document."""
    if name.endswith(".md"):
        return [line.lstrip("#").strip() for line in text.splitlines()
                if re.match("#+ ", line)]
    rows = text.splitlines()
    return [row.strip() for row, below in zip(rows, rows[1:])
            if UNDERLINE.fullmatch(below) and len(below) >= len(row) > 0]


def slug(heading):
    """The anchor that a viewer of Markdown gives a heading."""
    return re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")


def well_formed(address):
    """Whether an address of the web has a host and no strange characters."""
    try:
        parts = urllib.parse.urlsplit(address)
    except ValueError:
        return False
    return bool(re.fullmatch(r"[\w-]+(\.[\w-]+)*(:\d+)?", parts.netloc)
                and re.fullmatch(r"[\w.~:/?#@!$&*+,;=%-]+", address))


class Repository:
    """The files of the repository, and the documents among them."""

    def __init__(self, names):
        self.names = set(names)
        for name in names:
            self.names.update(map(str, pathlib.PurePath(name).parents))
        top = "|".join(sorted(re.escape(name) for name in self.names
                              if "/" not in name and f"{name}/" in
                              {other[:len(name) + 1] for other in names}))
        self.path = re.compile(rf"(?<![\w/.~-])((?:{top})/[\w./*\[\]-]*)")
        self.texts = {
            name: pathlib.Path(name).read_text(encoding="utf-8")
            for name in names if DOCUMENTS.fullmatch(name)}
        self.headings = {name: headings(name, text)
                         for name, text in self.texts.items()}

    def has(self, path):
        """Whether there is a file or a folder, or one of a pattern."""
        path = PLACEHOLDER.sub("*", path.rstrip("/"))
        return path in self.names or path in ELSEWHERE or \
            bool(re.search(r"[*\[]", path) and
                 fnmatch.filter(self.names, path))

    def has_named(self, ending):
        """Whether the path of a file has such an end."""
        return self.has(ending) or self.has(f"*/{ending}") or \
            ending.startswith("/")

    def has_chapter(self, title):
        """Whether a document has such a heading."""
        return any(title in of for of in self.headings.values())

    def has_link(self, document, target):
        """Whether the target of a link of a document exists."""
        if ADDRESS.match(target):
            return True
        path, _, anchor = target.partition("#")
        path = posixpath.normpath(posixpath.join(
            posixpath.dirname(document), path)) if path else document
        return path in self.names and (
            not anchor or anchor in map(slug, self.headings.get(path, [])))

    def mistakes(self, name):
        """The wrong references of a document: (where, which)."""
        text = self.texts[name]
        checks = (
            (LINK, "no such target of a link",
             lambda target: self.has_link(name, target)),
            (self.path, "no such file",
             lambda path: self.has(path.rstrip("."))),
            (LITERAL, "no file of this name", self.has_named),
            (CHAPTER, "no such chapter",
             lambda title: self.has_chapter(" ".join(title.split()))),
            (ADDRESS, "no address of the web",
             lambda address: well_formed(address.rstrip(".,;:"))))
        for pattern, problem, is_right in checks:
            for found in pattern.finditer(text):
                reference = found[pattern.groups]
                if not is_right(reference):
                    line = text.count("\n", 0, found.start()) + 1
                    yield line, f"{name}:{line}: {problem}: {reference}"


def main():
    """Check the documents of the list of the command line."""
    path, = map(pathlib.Path, arguments(__doc__, 1, 1))
    if not path.is_file():
        refuse(__doc__, f"no such file: {path}")
    repository = Repository(path.read_text(encoding="utf-8").splitlines())
    found = [mistake for name in sorted(repository.texts)
             for _, mistake in sorted(repository.mistakes(name))]
    for mistake in found:
        print(mistake, file=sys.stderr)
    return 1 if found or not repository.texts else 0


if __name__ == "__main__":
    sys.exit(main())
