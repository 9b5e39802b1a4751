#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Check that programs print their usage, and refuse wrong arguments.

usage: check-usage.py LIST

LIST is a file with the names of all files of the repository, one a line, seen
from the present folder. Those of PROGRAMS that can be executed are called, and
so are the commands of scripts/lab, and tools/bench/load, which has been built.
With -h and with --help each prints a text with "usage:" on standard output, of
lines no longer than WIDTH, but for paths of this machine, and exits with 0;
with an option that it does not know it prints one line on standard error,
nothing else, changes nothing, and exits with 1 or 2. Each mistake is a line on
standard error, and the exit code is 1 then; it is 2 when the command line is
wrong.
"""

import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.append(str(pathlib.Path(__file__).resolve().parent / "lib"))
from commandline import arguments, refuse  # noqa: E402 pylint: disable=wrong-import-position

PROGRAMS = re.compile(r"scripts/(?:lab|check-.*|gen-.*|bench/.*\.py)"
                      r"|tools/trace/.*|Documentation/netlink/.*\.py"
                      r"|selftests/run\.py|selftests/fuzz/seeds\.py")
LAB = "scripts/lab"
LOAD = "tools/bench/load"
WRONG = "--no-such-option"
SECONDS = 60            # that a call may take
WIDTH = 90              # columns of a line


def commands_of_lab():
    """The commands of scripts/lab, and those of its bench, by its help."""
    text = subprocess.run([LAB, "help"], capture_output=True, check=True,
                          encoding="utf-8").stdout
    found = re.findall(r"^  (bench )?([a-z]+)", text, re.MULTILINE)
    yield from dict.fromkeys((*bench.split(), word) for bench, word in found)
    yield "bench",


def called(command, *words):
    """Call a program in an empty folder; return exit code, both outputs, and
    the files that it has left."""
    with tempfile.TemporaryDirectory() as folder:
        try:
            done = subprocess.run(
                [os.path.abspath(command[0]), *command[1:], *words],
                cwd=folder, stdin=subprocess.DEVNULL, capture_output=True,
                check=False, encoding="utf-8", timeout=SECONDS)
        except subprocess.TimeoutExpired:
            return -1, "", f"not done in {SECONDS} s\n", []
        return done.returncode, done.stdout, done.stderr, os.listdir(folder)


def mistakes(command):
    """The mistakes of a program, as lines."""
    name = " ".join(command)
    for option in "-h", "--help":
        code, out, errors, _ = called(command, option)
        if code or errors or "usage: " not in out:
            yield (f"{name} {option}: exit code {code}, "
                   f"{len(out.splitlines())} lines, "
                   f"{'no ' * ('usage: ' not in out)}usage, {errors[-200:]!r}")
    for line in out.splitlines():
        if len(line) > WIDTH and not line.lstrip().startswith(os.sep):
            yield f"{name}: {len(line)} columns: {line}"
    code, out, errors, left = called(command, WRONG)
    if code not in (1, 2) or out or left or len(errors.splitlines()) != 1:
        yield (f"{name} {WRONG}: exit code {code}, {out[:80]!r}, "
               f"{errors[-200:]!r}, files: {left}")


def main():
    """Check the programs of the list of the command line."""
    path, = map(pathlib.Path, arguments(__doc__, 1, 1))
    if not path.is_file():
        refuse(__doc__, f"no such file: {path}")
    commands = [(name,) for name in path.read_text("utf-8").splitlines()
                if PROGRAMS.fullmatch(name) and os.access(name, os.X_OK)]
    commands += [(LOAD,), *((LAB, *words) for words in commands_of_lab())]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = [line for lines in pool.map(
            lambda command: list(mistakes(command)), commands)
                 for line in lines]
    for line in found:
        print(line, file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
