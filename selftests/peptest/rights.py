# SPDX-License-Identifier: GPL-2.0
"""Processes with different privileges, for requests to the kernel.

  root      root of the machine
  nobody    an unprivileged user
  lent      root, with sockets that user nobody has opened
  stranger  root of a user namespace, in a network namespace that it owns
"""

import contextlib
import ctypes
import os
import pickle
import select
import signal
import socket

from .ktap import Failure, Fatal, wait_for
from .netns import CLONE_NEWNET, Within

NOBODY = 65534
CLONE_NEWUSER = 0x10000000
PR_SET_DUMPABLE = 4
SO_RCVBUFFORCE = 33
ROOM = 1 << 23          # receive buffer of a socket for answers
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *args):
    """Make a system call through its C function."""
    if getattr(_libc, name)(*args):
        raise OSError(ctypes.get_errno(), name)


def _roomy(socks):
    """Give sockets room for many answers, which needs privileges."""
    for sock in socks:
        sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, ROOM)
    return socks


def _root(opened):
    return _roomy(opened())


def _lent(opened):
    os.seteuid(NOBODY)
    try:
        socks = opened()
    finally:
        os.seteuid(0)
    return _roomy(socks)


def _nobody(opened):
    socks = _lent(opened)
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    return socks


def _stranger(opened):
    os.setresuid(NOBODY, NOBODY, NOBODY)
    _call("prctl", PR_SET_DUMPABLE, 1, 0, 0, 0)
    _call("unshare", CLONE_NEWUSER | CLONE_NEWNET)
    with open("/proc/self/uid_map", "w", encoding="ascii") as file:
        file.write(f"0 {NOBODY} 1")
    return opened()


RIGHTS = {"root": _root, "nobody": _nobody, "lent": _lent,
          "stranger": _stranger}


class Worker:
    """A process with given privileges in a namespace. One function opens its
    sockets, another one makes an object of them, whose methods the process
    calls on request."""

    def __init__(self, name, ns, opened, made):
        self.name = name
        self.pipe, other = socket.socketpair()
        self.pid = os.fork()
        if not self.pid:
            try:
                self.pipe.close()
                with Within(ns):
                    _serve(other, RIGHTS[name], opened, made)
            finally:
                os._exit(0)
        other.close()

    def call(self, method, *args, seconds=300):
        """Call a method and return its result; fails when it fails."""
        self.begin(method, *args)
        return self.end(seconds)

    def begin(self, method, *args):
        """Start a method, which runs in the background."""
        self.pipe.send(pickle.dumps((method, args)))

    def end(self, seconds=300):
        """Return the result of that method; fails when it has failed."""
        if not select.select([self.pipe], [], [], seconds)[0]:
            raise Fatal(f"{self.name}: no answer within {seconds} s")
        data = self.pipe.recv(1 << 20)
        if not data:
            raise Failure(f"{self.name}: the process has died")
        good, what = pickle.loads(data)
        if not good:
            raise Fatal(f"{self.name}: {what}")
        return what

    def stop(self):
        """End the process, even in the middle of a call; a process that
        blocks in the kernel stays."""
        self.pipe.close()
        os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(Failure):
            wait_for(f"the end of {self.name}",
                     lambda: os.waitpid(self.pid, os.WNOHANG)[0], 10)


def _serve(pipe, become, opened, made):
    """The process: execute calls until the pipe is closed."""
    thing = None
    while True:
        data = pipe.recv(1 << 16)
        if not data:
            return
        method, args = pickle.loads(data)
        try:
            thing = thing or made(become(opened))
            answer = True, getattr(thing, method)(*args)
        except Exception as what:   # pylint: disable=broad-except
            answer = False, f"{type(what).__name__}: {what}"
        pipe.send(pickle.dumps(answer))
