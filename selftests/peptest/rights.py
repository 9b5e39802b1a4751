# SPDX-License-Identifier: GPL-2.0
"""Processes with rights of their own, for requests to the kernel.

  root      of the machine
  nobody    an unprivileged user
  lent      root, by sockets that nobody has opened
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
ROOM = 1 << 23          # bytes of answers that a socket has room for
_libc = ctypes.CDLL(None, use_errno=True)


def _call(name, *args):
    """A system call, by its function in C."""
    if getattr(_libc, name)(*args):
        raise OSError(ctypes.get_errno(), name)


def _roomy(socks):
    """Give sockets room for many answers, which takes rights."""
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
    """A process with rights in a namespace. It opens sockets by a function,
    makes an object of them by another one, and calls its methods when told."""

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
        """Have a method called and return what it does; fails as it does."""
        self.begin(method, *args)
        return self.end(seconds)

    def begin(self, method, *args):
        """Have a method called, which goes on meanwhile."""
        self.pipe.send(pickle.dumps((method, args)))

    def end(self, seconds=300):
        """Return what that method returns, and fail as it does."""
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
        """End the process, in the middle of a call if need be; one that the
        kernel does not let go stays."""
        self.pipe.close()
        os.kill(self.pid, signal.SIGKILL)
        with contextlib.suppress(Failure):
            wait_for(f"the end of {self.name}",
                     lambda: os.waitpid(self.pid, os.WNOHANG)[0], 10)


def _serve(pipe, become, opened, made):
    """The process: calls until the pipe is closed."""
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
