#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Measure the language of comments, docstrings and documents.

usage: check-language.py FILE...

Sentences with "what" or "who" as a subject or an object, and reports in the
passive, make a reader stumble. Count these words in the comments of C, shell
and make files, in the comments and docstrings of Python files and in the text
of documents, per group: the first folder of a file's path. Print the rate of
each group per 1,000 words. Exit code 1 when a group has 1 or more; its lines
follow; 2 when the command line is wrong. Literal blocks of documents and text
that a Python program prints as its usage do not count.
"""

import ast
import collections
import io
import pathlib
import re
import sys
import tokenize

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from commandline import arguments  # noqa: E402 pylint: disable=wrong-import-position

MOST = 1                # per 1,000 words
LINK = re.compile(r"\]\([^)]*\)")        # where a link of Markdown leads
COUNTED = re.compile(r"\b(what|who|tell|tells|told|telling)\b", re.IGNORECASE)
C_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
SHELL_COMMENT = re.compile(r"\s*#(?!!)(.*)")
DOCUMENTS = ".rst", ".md", ".4", ".5", ".8"


def of_c(text):
    """The lines of comments: (number, line)."""
    for match in C_COMMENT.finditer(text):
        first = text.count("\n", 0, match.start()) + 1
        yield from enumerate(match[0].splitlines(), first)


def of_python(text):
    """The same of comments and docstrings."""
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string
    for node in ast.walk(ast.parse(text)):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) \
                or ast.get_docstring(node) is None:
            continue
        if isinstance(node, ast.Module) and "__doc__" in text:
            continue
        yield from enumerate(node.body[0].value.value.splitlines(),
                             node.body[0].lineno)


def of_shell(text):
    """The same of comments."""
    for number, line in enumerate(text.splitlines(), 1):
        if match := SHELL_COMMENT.match(line):
            yield number, match[1]


def of_document(text):
    """The lines outside literal blocks, which are indented or fenced."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        fenced ^= line.startswith("```")
        if not fenced and not line.startswith(("    ", "\t")):
            yield number, LINK.sub("]", line)


def lines(name, text):
    """The lines of a file that a reader reads: (number, line)."""
    if name.endswith((".c", ".h")):
        return of_c(text)
    if name.endswith(".py"):
        return of_python(text)
    if name.endswith(DOCUMENTS):
        return of_document(text)
    return of_shell(text)


def main():
    """Measure the files of the command line."""
    words, found = collections.Counter(), collections.defaultdict(list)
    for name in arguments(__doc__, 1):
        group = name.partition("/")[0]
        with open(name, encoding="utf-8") as file:
            text = file.read()
        for number, line in lines(name, text):
            words[group] += len(line.split())
            found[group] += [f"{name}:{number}: {line.strip()}"
                             for _ in COUNTED.finditer(line)]
    bad = False
    for group, count in words.items():
        rate = 1000 * len(found[group]) / max(count, 1)
        print(f"{group}: {rate:.2f} per 1,000 words")
        if rate >= MOST:
            bad = True
            print("\n".join(found[group]))
    return int(bad)


if __name__ == "__main__":
    sys.exit(main())
