# SPDX-License-Identifier: GPL-2.0
"""Cases of a test, their expectations, and the KTAP stream they print."""

import os
import re
import signal
import sys
import time
import traceback

from . import env
from .complaints import PATTERN

CASE_SECONDS = 120      # a case that takes longer fails
DUMPS = 2               # failed cases of a test that are shown in full


class Failure(Exception):
    """An expectation of a case was not met."""


class Fatal(Failure):
    """An error that must never happen, not even once: payload that differs,
    an error of the kernel. It is useless to repeat the test."""


class Skip(Exception):
    """The case cannot run here; the text gives the reason."""


class Late(Exception):
    """The case took too long."""


_cases = []             # (text, function, arguments, seconds)
_cleanups = []          # called after each case
_dumpers = []           # print diagnostics of a failure
_notes = []             # diagnostics of the running case


def case(text, *args, seconds=CASE_SECONDS):
    """Mark a function as a case; may be applied several times."""
    def mark(function):
        _cases.append((text, function, args, seconds))
        return function
    return mark


def families(text, *args, seconds=CASE_SECONDS):
    """Mark a function as a case for IPv4 and one for IPv6; its first argument
    is 4 or 6."""
    def mark(function):
        for family in 4, 6:
            _cases.append((f"{text}, IPv{family}", function, (family, *args),
                           seconds))
        return function
    return mark


def after_case(function):
    """Register a function to be called after each case."""
    _cleanups.append(function)
    return function


def dumper(function):
    """Register a function that yields lines, called when a case has failed."""
    _dumpers.append(function)
    return function


def note(*words):
    """Print a diagnostic line with the case's result."""
    _notes.append(" ".join(str(w) for w in words))


def fail(text):
    """Fail the case."""
    raise Failure(text)


def skip(why):
    """Skip the case."""
    raise Skip(why)


def expect(what, got, wanted):
    """Fail unless two values are equal."""
    if got != wanted:
        raise Failure(f"{what} is {got!r} instead of {wanted!r}")


def must(what, got, wanted):
    """The same for an expectation that must never fail, not even once."""
    if got != wanted:
        raise Fatal(f"{what} is {got!r} instead of {wanted!r}")


def expect_least(what, got, least):
    """Fail unless a number is at least another."""
    if got < least:
        raise Failure(f"{what} is {got!r} instead of at least {least!r}")


def expect_most(what, got, most):
    """Fail unless a number is at most another."""
    if got > most:
        raise Failure(f"{what} is {got!r} instead of at most {most!r}")


def expect_between(what, got, least, most):
    """Fail unless a number is at least one, and at most another."""
    if not least <= got <= most:
        raise Failure(f"{what} is {got!r}, not from {least!r} to {most!r}")


def wait_for(what, test, seconds=30):
    """Call a function repeatedly until it returns a true value and return
    that; fail after some seconds."""
    end = time.monotonic() + seconds
    pause = 0.002
    while True:
        got = test()
        if got:
            return got
        if time.monotonic() > end:
            raise Failure(f"waited {seconds} s in vain for: {what}")
        time.sleep(pause)
        pause = min(pause * 1.5, 0.1)


def steady(what, read, pause=0.25):
    """Read a number until it stays the same for some seconds; return it."""
    last, since = read(), time.monotonic()

    def still():
        nonlocal last, since
        now = read()
        if now != last:
            last, since = now, time.monotonic()
        return time.monotonic() - since > pause
    wait_for(f"{what} to stay the same", still)
    return last


class Log:
    """The kernel's log from now on."""

    def __init__(self):
        self.fd = os.open("/dev/kmsg", os.O_RDONLY | os.O_NONBLOCK)
        os.lseek(self.fd, 0, os.SEEK_END)
        self.lines = []

    def read(self):
        """Return all lines so far."""
        while True:
            try:
                record = os.read(self.fd, 8192).decode("utf-8", "replace")
            except BlockingIOError:
                return self.lines
            except BrokenPipeError:     # overwritten before it was read
                continue
            self.lines.append(record.partition(";")[2].split("\n")[0])

    def check(self):
        """Fail if the kernel complained."""
        bad = [line for line in self.read() if re.search(PATTERN, line)]
        if bad:
            raise Fatal("the kernel complained: " + "; ".join(bad))


def _late(_signal, _frame):
    raise Late("it took too long")


def _comment(text):
    for line in str(text).split("\n"):
        print("# " + line)


def _run(function, args, seconds):
    """Run one case; return its exception or None."""
    error = None
    signal.alarm(seconds)
    try:
        function(*args)
    except Skip as what:
        signal.alarm(0)
        return what
    except Exception as what:   # pylint: disable=broad-except
        error = what
    signal.alarm(0)
    return error


def _clean():
    """Clean up after a case; return the first exception or None."""
    error = None
    signal.alarm(CASE_SECONDS)
    for function in _cleanups:
        try:
            function()
        except Exception as what:   # pylint: disable=broad-except
            error = error or what
    signal.alarm(0)
    return error


def _tell(error):
    """Print an exception."""
    if isinstance(error, (Failure, Late)):
        word = "fatal" if isinstance(error, Fatal) else "failed"
        _comment(f"{word}: {error}")
    tb = traceback.extract_tb(error.__traceback__)
    for frame in tb:
        if "/peptest/ktap.py" not in frame.filename:
            _comment(f"  {os.path.basename(frame.filename)}:{frame.lineno}: "
                     f"{frame.line}")
    if not isinstance(error, (Failure, Late)):
        _comment(f"{type(error).__name__}: {error}")


def _dump(log):
    """Print the state of everything."""
    signal.alarm(CASE_SECONDS)
    try:
        for function in _dumpers:
            for line in function():
                _comment(line)
    except Exception as what:   # pylint: disable=broad-except
        _comment(f"no further: {what}")
    signal.alarm(0)
    _comment("--- kernel log")
    for line in log.read()[-60:]:
        _comment(line)


def run(setup, teardown):
    """Run the marked cases, and teardown as the last one; return the number
    of failures."""
    failed = 0
    log = Log()
    signal.signal(signal.SIGALRM, _late)

    def end():
        teardown()
        log.check()

    def begin():
        if setup:
            setup()

    chosen = [entry for entry in _cases if env.CASE in entry[0]]
    if env.CASE and not chosen:
        chosen = [("a case to run", fail,
                   (f"no case has {env.CASE!r} in its text",), CASE_SECONDS)]
    cases = [("set up", begin, (), CASE_SECONDS), *chosen,
             ("nothing is left", end, (), CASE_SECONDS)]
    print(f"TAP version 13\n1..{len(cases)}", flush=True)
    for number, (text, function, args, seconds) in enumerate(cases, 1):
        start = time.monotonic()
        _notes.clear()
        error = _run(function, args, seconds)
        if isinstance(error, Skip):
            _clean()
            print(f"ok {number} {text} # SKIP {error}", flush=True)
            continue
        for line in _notes:
            _comment(line)
        if error:
            failed += 1
            _comment(f"case {number}: {text}")
            _tell(error)
            if failed <= DUMPS:
                _dump(log)
        left = _clean()
        if left and not error:
            failed += 1
            error = left
            _comment("afterwards:")
            _tell(left)
        _comment(f"{number}: {time.monotonic() - start:.1f} s")
        print(f"{'not ok' if error else 'ok'} {number} {text}", flush=True)
    sys.stdout.flush()
    return failed
