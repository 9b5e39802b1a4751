#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run a program that boots a guest, and watch over it.

usage: guest.py CONSOLE-LOG TIMEOUT PROGRAM [ARG...]

PROGRAM's standard output is the output of the command in the guest and is
passed on as it comes; its standard error is the guest's console and goes into
CONSOLE-LOG. Exits with the code of the command in the guest, as told by
guest-init.sh; with 124 when TIMEOUT seconds went by or the kernel hung after
a panic, 125 when the guest ended without telling one.
"""

import os
import re
import select
import signal
import subprocess
import sys
import time

EXIT_LINE = re.compile(rb"^guest-exit-code: (\d+)\r?$")
PANIC = re.compile(rb"Kernel panic - not syncing|end Kernel panic")
PANIC_GRACE = 30        # seconds a panicked guest may take to go away


class Output:
    """Passes lines on to standard output, except the exit code's line."""

    def __init__(self):
        self.code = None
        self.rest = b""
        self.blank = b""        # an empty line may belong to the exit code

    def feed(self, data):
        """Take in data from the guest."""
        *lines, self.rest = (self.rest + data).split(b"\n")
        for line in lines:
            told = EXIT_LINE.match(line)
            if told:
                self.code = int(told.group(1))
                self.blank = b""
            elif not line and not self.blank:
                self.blank = b"\n"
            else:
                sys.stdout.buffer.write(self.blank + line + b"\n")
                self.blank = b""
        sys.stdout.buffer.flush()

    def end(self):
        """Pass on a last line without a newline."""
        if self.rest:
            sys.stdout.buffer.write(self.rest + b"\n")
            sys.stdout.buffer.flush()


def watch(child, log, deadline):
    """Copy both streams until the guest ends; return its code, or None when
    the time is over."""
    out = Output()
    tail = b""
    streams = {child.stdout: out.feed, child.stderr: None}
    while streams:
        left = deadline - time.monotonic()
        if left <= 0:
            out.end()
            return None
        for stream in select.select(list(streams), [], [], left)[0]:
            data = os.read(stream.fileno(), 65536)
            if not data:
                del streams[stream]
            elif stream is child.stdout:
                out.feed(data)
            else:
                log.write(data)
                log.flush()
                tail = (tail + data)[-4096:]
                if PANIC.search(tail):
                    deadline = min(deadline, time.monotonic() + PANIC_GRACE)
    out.end()
    return 125 if out.code is None else out.code


def main():
    """Start the program in a session of its own and never leave it behind."""
    if len(sys.argv) < 4:
        print(__doc__, file=sys.stderr)
        return 2
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    signal.signal(signal.SIGHUP, lambda *_: sys.exit(129))
    deadline = time.monotonic() + float(sys.argv[2])
    with open(sys.argv[1], "wb") as log, subprocess.Popen(
            sys.argv[3:], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, start_new_session=True) as child:
        try:
            code = watch(child, log, deadline)
        finally:
            try:
                os.killpg(child.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    if code is None:
        print(f"lab: the guest did not end within {sys.argv[2]} s",
              file=sys.stderr)
        return 124
    return code


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
