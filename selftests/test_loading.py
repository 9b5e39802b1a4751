# SPDX-License-Identifier: GPL-2.0
"""Memory fails while the module is loaded, while a network namespace is made,
and while pepadm changes or shows something: each allocation that the module
asks for in turn. It fails or works, nothing is left of the half-done, no
memory is lost, and the next attempt succeeds."""

import ctypes
import errno
import os

from peptest import debugfs, env, pep, sites
from peptest.kmemleak import expect_none, jiffies
from peptest.ktap import Failure, case, expect, expect_least, note, skip
from peptest.netns import Within, ip, run, spaces, spaces_down, topology_up
from peptest.pep import pepadm
from peptest.tcp import close_all, exchange, pair

TRAITS = {"once", "leaks"}

MOST = 1000             # allocations of one attempt
DEATH = 255             # exit code of a process that could not begin
FINIT_MODULE = 313      # number of the system call on x86-64
NEWNET = 0x40000000     # CLONE_NEWNET
SHOWN = (("dev", "show"), ("profile", "show"), ("limit", "show"),
         ("limit", "show", "top"), ("stat", "show"), ("stat", "gain"),
         ("stat", "residence"), ("path", "show"), ("conn", "show"),
         ("flow", "show"))
_libc = ctypes.CDLL(None, use_errno=True)


def setup():
    """The module is not loaded; those that it works with are."""
    pep.load()
    pep.unload()


def teardown():
    """Let memory be refused no more."""
    if sites.faults_possible():
        everywhere()
    if "alone" in spaces():
        spaces_down("alone")
    pep.teardown()


def modules_only():
    """Refuse memory only where a function of a module asks for it, but not to
    a slab cache's files in sysfs, whose name the kernel then loses."""
    if not sites.faults_possible():
        skip("only the debug kernels have faults")
    with open("/proc/kallsyms", encoding="ascii") as file:
        where = {name: int(address, 16) for address, _, name in
                 (line.split()[:3] for line in file)}
    leaky = where["sysfs_slab_add"]
    sites.disarm()
    sites.narrow(where["_etext"], (1 << 64) - 1)
    reject(leaky, min(address for address in where.values()
                      if address > leaky))


def reject(start, end):
    """Let no allocations fail where a caller's address is in a range."""
    for kind in sites.KINDS:
        debugfs.write(f"{kind}/reject-start", start)
        debugfs.write(f"{kind}/reject-end", end)


def everywhere():
    """Take the filters back."""
    sites.disarm()
    reject(0, 0)


def failing(number, call):
    """Call a function in a process of its own, whose allocation of that number
    is refused; return its result, or the exit code of the program that it
    executes, and whether an allocation was refused."""
    pid = os.fork()
    if not pid:
        try:
            with open("/proc/thread-self/fail-nth", "w",
                      encoding="ascii") as file:
                file.write(str(number))
            os._exit(call())
        finally:
            os._exit(DEATH)
    os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    with open(f"/proc/{pid}/task/{pid}/fail-nth", encoding="ascii") as file:
        left = int(file.read())
    result = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if result == DEATH or result < 0:
        raise Failure(f"the process with the fault has died: {result}")
    return result, not left


def loading():
    """Load the module; return an error number, or 0."""
    fd = os.open(env.KO, os.O_RDONLY)
    failed = _libc.syscall(FINIT_MODULE, fd, b"", 0)
    return ctypes.get_errno() if failed else 0


def unsharing():
    """Make a network namespace; return an error number, or 0."""
    return ctypes.get_errno() if _libc.unshare(NEWNET) else 0


def command(ns, *words):
    """A function that executes pepadm."""
    def execute():
        null = os.open(os.devnull, os.O_WRONLY)
        os.dup2(null, 1)
        os.dup2(null, 2)
        with Within(ns):
            os.execv(env.PEPADM, [env.PEPADM, *words])
    return execute


def each(call, code, undo, unchanged):
    """Repeat the call with one allocation after the other refused, until none
    is; undo those that succeed. Return how often it failed, each time with the
    right code."""
    failures = 0
    for number in range(1, MOST):
        result, refused = failing(number, call)
        if not refused:
            expect("result without a fault", result, 0)
            note(f"{number - 1} allocations, {failures} failures")
            return failures
        if result:
            expect("result", result, code)
            failures += 1
            unchanged()
        else:
            undo()
    raise Failure(f"more than {MOST} allocations")


def nothing():
    """There is nothing to undo or to compare."""


@case("each allocation of the module's loading is refused", seconds=300)
def load():
    modules_only()
    since = jiffies()
    expect_least("failures", each(loading, errno.ENOMEM, pep.unload,
                                  pep.gone), 10)
    everywhere()
    topology_up()
    pepadm("profile", "set", "default", "split", "handshake")
    pep.attach()
    for family in 4, 6:
        exchange(pair(family), 100000)
    close_all()
    expect_none(since)


@case("each allocation of a network namespace's making is refused")
def namespace():
    modules_only()
    since = jiffies()
    expect_least("failures", each(unsharing, errno.ENOMEM, nothing, nothing),
                 2)
    expect_none(since)


def alone():
    """Make a namespace in which pep has never been attached."""
    if "alone" in spaces():
        spaces_down("alone")
    ip(None, "netns add alone")
    ip("alone", "link add d0 type dummy", "link set d0 up")


def all_of(ns):
    """The configuration of pep in a namespace, and its devices' qdiscs."""
    return (pepadm("conf", "save", ns=ns).stdout,
            run("tc", "qdisc", "show", ns=ns).stdout)


@case("each allocation of a first device's attaching is refused", seconds=300)
def attach():
    modules_only()
    since = jiffies()
    alone()
    before = all_of("alone")
    expect_least("failures", each(
        command("alone", "dev", "add", "d0", "side", "wireless"), 1, alone,
        lambda: expect("configuration", all_of("alone"), before)), 5)
    spaces_down("alone")
    expect_none(since)


@case("each allocation of a change is refused", seconds=300)
def change():
    modules_only()
    since = jiffies()
    for do, undo in (
            (("profile", "add", "spare", "control", "20%"),
             ("profile", "del", "spare")),
            (("profile", "set", "default", "split", "6000", "residence", "7"),
             ("profile", "replace", "default", "split", "handshake"))):
        before = all_of("pep")
        expect_least(f"failures of {do[1]}", each(
            command("pep", *do), 1, lambda: pepadm(*undo),
            lambda: expect("configuration", all_of("pep"), before)), 1)
        pepadm(*undo)
        expect(f"configuration after {undo}", all_of("pep"), before)
    expect_none(since)


@case("each allocation of a display is refused", seconds=300)
def show():
    modules_only()
    since = jiffies()
    for family in 4, 6:
        pair(family)
    expect_least("failures", sum(
        each(command("pep", *words), 1, nothing, nothing)
        for words in SHOWN), 5)
    close_all()
    expect_none(since)
