# SPDX-License-Identifier: GPL-2.0
"""A checklist of CONTRIBUTING.rst: its items, the files and the words that it
names."""

import fnmatch
import functools
import os
import pathlib
import re

TEXT = "CONTRIBUTING.rst"
LITERAL = re.compile(r"``([^`]+)``")
NAMES = re.compile(r"\.(py|[ch]|\[ch\]|yaml|rst|md|json|8)$")
WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")
COUNT = re.compile(r"takes\s+(\w+)\s+files?\s+by\s+hand")
NUMBERS = ("no", "one", "two", "three", "four", "five", "six", "seven",
           "eight", "nine", "ten", "eleven", "twelve", "thirteen", "fourteen",
           "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
           "twenty")
PLACEHOLDER = "NAME"    # in the name of a file that does not exist yet


class Tree:
    """A copy of the project: its folder, and the files that belong to it."""

    def __init__(self, top, files):
        self.top = pathlib.Path(top)
        self.files = files

    def words(self, folders):
        """All words of the files in some folders."""
        return {word for path in self.files
                if os.path.dirname(path) in folders and path != TEXT
                for word in WORD.findall(self.read(path))}

    def read(self, path):
        """The text of a file."""
        return (self.top / path).read_text("utf-8", "replace")

    @functools.cached_property
    def chapters(self):
        """The text of each chapter of CONTRIBUTING.rst by its title."""
        parts = re.split(r"^([^\n]+)\n=+\n", self.read(TEXT),
                         flags=re.MULTILINE)
        return dict(zip(parts[1::2], parts[2::2]))


class Section:
    """A checklist: items, its text by number; named, the patterns of the
    files that it names; faults, the errors of the text by itself."""

    def __init__(self, tree, title):
        self.tree = tree
        self.faults = []
        self.text = tree.chapters[title]
        parts = re.split(r"^(\d+)\. ", self.text, flags=re.MULTILINE)
        self.items = dict(zip(map(int, parts[1::2]), parts[2::2]))
        if list(self.items) != list(range(1, len(self.items) + 1)):
            self.faults.append("its items are not numbered from 1 on")
        self.named = []
        words = []
        for token in LITERAL.findall(self.text):
            if NAMES.search(token) and " " not in token or \
                    self._within(token):
                self._look_up(token)
            else:
                words += WORD.findall(token)
        known = tree.words({os.path.dirname(path) for path in self.named})
        self.faults += [f"{word} of its text is in no file beside those that "
                        "it names" for word in words if word not in known]

    def _look_up(self, token):
        """Note the files of a name."""
        found = self._resolve(token)
        if not found:
            self.faults.append(f"there is no file {token}")
        self.named += [path.replace(PLACEHOLDER, "*") for path in found]

    def _within(self, token):
        """Does a literal begin with the name of a folder of the project?"""
        top, slash, _ = token.partition("/")
        return slash and " " not in token and (self.tree.top / top).is_dir()

    def _resolve(self, token):
        """The files or the folder that a literal means: a file without its
        folder is one of a folder that the section has named, or the only one
        of its name."""
        if "[ch]" in token:
            return [path for end in "ch"
                    for path in self._resolve(token.replace("[ch]", end))]
        wanted = token.replace(PLACEHOLDER, "*")
        if fnmatch.filter(self.tree.files, wanted) or \
                (self.tree.top / token).is_dir():
            return [token]
        found = fnmatch.filter(self.tree.files, f"*/{wanted}")
        if len(found) > 1:
            near = {os.path.dirname(path) for path in self.named}
            found = [path for path in found if os.path.dirname(path) in near]
        return found if len(found) == 1 else []

    def names(self, path):
        """Does the section name a file?"""
        return any(fnmatch.fnmatch(path, pattern) for pattern in self.named)

    def count(self):
        """The number of files by hand, as the text has it."""
        found = COUNT.search(self.text)
        return NUMBERS.index(found[1]) if found and found[1] in NUMBERS \
            else None
