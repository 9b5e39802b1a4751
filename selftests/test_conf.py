# SPDX-License-Identifier: GPL-2.0
"""Configurations in files: a saved one can be read back, a change to another
one leaves flows alone where possible, and one that does not work changes
nothing."""

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import re
import select
import signal
import socket
import stat
import subprocess
import tempfile

from peptest import pep
from peptest.env import PEPADM, PLUGINS, TOP
from peptest.ktap import (after_case, case, expect, expect_least, fail,
                          families, wait_for)
from peptest.netns import Within, ip, run
from peptest.pep import PLAIN, grows, pepadm
from peptest.tcp import exchange, exchange_part, expect_reset

TRAITS = {"once"}

GOLD = """\
# The order does not matter.
dev sv0 side server
dev wl0 side wireless profile gold   # the good one
profile gold cc-wireless cubic residence 80
"""
IN_MODIFY = 2           # of inotify
_path = tempfile.mkdtemp(prefix="pep-conf-")
FILE = os.path.join(_path, "pep.conf")
GUIDE = os.path.join(TOP, "Documentation/networking/pep-guide.rst")


def saved():
    """The present configuration, lines in the order of devices' names."""
    return pepadm("conf", "save").stdout


def listeners():
    """The hidden listeners: new ones after a profile has been created again.
    Old ones may disappear at any time."""
    out = run("ss", "-Htanl", ns="pep").stdout
    return {line.split()[3] for line in out.splitlines()}


def write(text):
    """Write the file."""
    with open(FILE, "w", encoding="utf-8") as file:
        file.write(text)


def tc(dev, words, where="protocol ip"):
    """Add a filter to the ingress of a device, using tc with the plugin."""
    done = run("tc", "-n", "pep", "qdisc", "show", "dev", dev)
    if "clsact" not in done.stdout:
        run("tc", "-n", "pep", "qdisc", "add", "dev", dev, "clsact")
    run("env", f"TC_LIB_DIR={PLUGINS}", "tc", "-n", "pep", "filter", "add",
        "dev", dev, "ingress", *where.split(), *words.split())


def uses(profile):
    """Number of actions that use a profile."""
    shown, = json.loads(pepadm("-j", "profile", "show", profile).stdout)
    return shown["devices"]


def flow_of(family):
    """Both ends of a connection that was split by the defaults."""
    return pep.split_pair(family, size=20000)


def same_lines(what, found, wanted):
    """Compare lines in any order: devices are listed in the order of their
    ifindex."""
    expect(what, sorted(found.splitlines()), sorted(wanted.splitlines()))


def setup():
    """Attached, with another device."""
    pep.attached()
    ip("pep", "link add d0 type veth peer name d1")


@after_case
def plain():
    """Restore the initial configuration."""
    if pep.loaded():
        pepadm("conf", "sync", "-", stdin=PLAIN)


@case("what is saved is what is configured")
def save():
    same_lines("conf save", saved(), PLAIN)
    expect("conf show", pepadm("conf", "show").stdout, saved())
    expect("conf", pepadm("conf").stdout, saved())
    pepadm("conf", "save", FILE)
    with open(FILE, encoding="utf-8") as file:
        expect("the file", file.read(), saved())
    expect("the folder", os.listdir(_path), ["pep.conf"])
    os.chmod(FILE, 0o600)
    os.symlink(FILE, FILE + ".link")
    pepadm("conf", "save", FILE + ".link")
    expect("its mode", stat.S_IMODE(os.stat(FILE).st_mode), 0o600)
    expect("a symbolic link", os.path.islink(FILE + ".link"), True)
    os.unlink(FILE + ".link")
    pepadm("conf", "save", "/dev/null")
    expect("a device", stat.S_ISCHR(os.stat("/dev/null").st_mode), True)
    pepadm("profile", "add", "gold", "mark", "7", "dscp", "46")
    pepadm("limit", "set", "flows", "5")
    for words in ("profile gold ", " mark 7 dscp 46 ", "limit flows 5 "):
        if words not in saved():
            fail(f"{words!r} is not in what was saved")


@case("a file keeps its owner, group and mode")
def owner():
    pepadm("conf", "save", FILE)
    os.chown(FILE, 1234, 4321)
    os.chmod(FILE, 0o2660)
    pepadm("conf", "save", FILE)
    st = os.stat(FILE)
    expect("owner, group, mode",
           (st.st_uid, st.st_gid, oct(stat.S_IMODE(st.st_mode))),
           (1234, 4321, "0o2660"))
    # A user who may not restore the file's owner leaves it unchanged.
    os.chmod(_path, 0o777)
    done = run("setpriv", "--reuid", "1111", "--clear-groups", PEPADM, "conf",
               "save", FILE, ns="pep", check=False)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr,
           f"pepadm: conf save: {FILE}: Operation not permitted\n")
    expect("owner", os.stat(FILE).st_uid, 1234)
    expect("the folder", os.listdir(_path), ["pep.conf"])
    os.chmod(_path, 0o700)
    os.unlink(FILE)


@contextlib.contextmanager
def ahead():
    """Within, share one CPU with the started programs, and run before them as
    soon as there is work."""
    cpus = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(cpus)})
    os.sched_setscheduler(0, os.SCHED_FIFO | os.SCHED_RESET_ON_FORK,
                          os.sched_param(1))
    try:
        yield
    finally:
        os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
        os.sched_setaffinity(0, cpus)


def writes(path):
    """An inotify file that is readable after a write in a folder."""
    libc = ctypes.CDLL(None)
    watch = libc.inotify_init()
    expect_least("a watch", libc.inotify_add_watch(watch, path.encode(),
                                                   IN_MODIFY), 0)
    return open(watch, "rb")


@case("an interrupted save leaves a whole file, and nothing beside it")
def interrupted():
    pepadm("conf", "save", FILE)
    pepadm("profile", "add", "gold")
    with writes(_path) as watch, ahead(), Within("pep"):
        with subprocess.Popen([PEPADM, "conf", "save", FILE]) as child:
            if not select.select([watch], [], [], 30)[0]:
                fail("it was never met while it wrote")
            os.kill(child.pid, signal.SIGSTOP)
            status = os.waitpid(child.pid, os.WUNTRACED)[1]
            expect("stopped", os.WIFSTOPPED(status), True)
            expect("files", len(os.listdir(_path)), 2)
            child.send_signal(signal.SIGTERM)
            child.send_signal(signal.SIGCONT)
    expect("the folder", os.listdir(_path), ["pep.conf"])
    with open(FILE, encoding="utf-8") as file:
        expect("the file", file.read(), saved())


def broken(fifo):
    """Save to a pipe whose reader closes while the first part waits to be
    written; a second one opens. Return the text that it reads, and the
    process."""
    reader = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
    full = os.open(fifo, os.O_WRONLY | os.O_NONBLOCK)
    fcntl.fcntl(full, fcntl.F_SETPIPE_SZ, 4096)
    os.write(full, b"x" * 4096)
    with Within("pep"):
        child = subprocess.Popen([PEPADM, "conf", "save", fifo],
                                 restore_signals=False,
                                 stderr=subprocess.PIPE, text=True)

    def blocked():
        files = f"/proc/{child.pid}/fd"
        with open(f"/proc/{child.pid}/stat", encoding="ascii") as file:
            sleeps = file.read().rpartition(")")[2].split()[0] == "S"
        return sleeps and fifo in (os.readlink(f"{files}/{number}")
                                   for number in os.listdir(files))

    def switches():
        with open(f"/proc/{child.pid}/status", encoding="ascii") as file:
            return [line for line in file if "ctxt_switches" in line]
    wait_for("a full pipe", blocked)
    before = switches()
    os.close(reader)
    # A process that is awake has not necessarily run.
    wait_for("the end of that", lambda: switches() != before)
    with open(fifo, "rb", opener=lambda path, flags:
              os.open(path, flags | os.O_NONBLOCK)) as file:
        os.close(full)
        os.set_blocking(file.fileno(), True)
        return file.read().lstrip(b"x").decode(), child


@case("what is lost in the middle is told")
def lost():
    for number in range(100):
        pepadm("profile", "add", f"p{number}")
    fifo = FILE + ".fifo"
    os.mkfifo(fifo)
    whole = saved()
    for _ in range(20):
        got, child = broken(fifo)
        code = child.wait(30)
        if code or got != whole:
            break
    else:
        fail("nothing was lost")
    os.unlink(fifo)
    expect("exit code", code, 1)
    expect("it says", child.stderr.read(),
           f"pepadm: conf save: {fifo}: not all could be written\n")


@case("a control group is saved, and comes and goes with a file")
def control():
    pepadm("profile", "add", "gold", "control", "12.5%", "control-by",
           "subscriber")
    before = saved()
    if " control 12.5% control-by subscriber " not in before:
        fail(f"it is not in {before}")
    pepadm("conf", "sync", "-", stdin=PLAIN)
    same_lines("without it", saved(), PLAIN)
    pepadm("conf", "sync", "-", stdin=before)
    expect("with it again", saved(), before)
    done = pepadm("conf", "check", "-", stdin="profile gold control 51%\n",
                  check=False)
    expect("exit code", done.returncode, 2)
    expect("message", done.stderr, 'pepadm: standard input:1: conf check: '
           'control: "51%" is not one of: off, a share from 0.01% to 50%\n')


@case("what was saved is in force again after the module has gone and come")
def again():
    pepadm("profile", "add", "gold", "mark", "7", "server-rcvbuf", "70000",
           "wireless-max-rate", "1234567bit", "server-max-rate", "90gbit")
    pepadm("dev", "set", "sv0", "profile", "gold")
    pepadm("limit", "set", "flows", "5")
    before = saved()
    pepadm("conf", "save", FILE)
    pep.detach()
    pep.unload()
    pep.load()
    pepadm("conf", "load", FILE)
    expect("conf save", saved(), before)
    for family in 4, 6:
        with grows(flow_established=1):
            exchange(flow_of(family), 1000)


@case("going to what is there changes nothing")
def idempotent():
    live = flow_of(4)
    before = listeners()
    filters = run("tc", "filter", "show", "dev", "wl0", "ingress",
                  ns="pep").stdout
    for _ in range(3):
        pepadm("conf", "sync", "-", stdin=saved())
    expect("new listeners", listeners() - before, set())
    expect("filters", run("tc", "filter", "show", "dev", "wl0", "ingress",
                          ns="pep").stdout, filters)
    pepadm("profile", "set", "default", "residence", "50")
    if not listeners() - before:
        fail("what was set by hand has no new listeners")
    exchange(live, 1000)


@case("sync leaves flows alone")
def sync():
    """Other values, another profile for a device: existing flows go on, new
    ones have the new values."""
    live = [flow_of(family) for family in (4, 6)]
    write(GOLD)
    pepadm("conf", "sync", FILE)
    if "dev wl0 side wireless profile gold" not in saved():
        fail("wl0 has not the profile gold")
    new = [flow_of(family) for family in (4, 6)]
    flows = pep.flows()
    expect("profiles of flows", sorted(flow["profile"] for flow in flows),
           ["default", "default", "gold", "gold"])
    with grows(flow_closed=4, flow_reset=0, flow_killed=0):
        for both in live + new:
            exchange(both, 10000)
    pepadm("conf", "sync", "-", stdin=PLAIN)
    same_lines("conf save", saved(), PLAIN)


@case("sync detaches and attaches devices")
def devices():
    text = PLAIN.replace("dev sv0 side server", "dev d0 side server")
    pepadm("conf", "sync", "-", stdin=text)
    same_lines("conf save", saved(), text)
    expect("filters of sv0", run("tc", "qdisc", "show", "dev", "sv0",
                                 ns="pep").stdout.count("clsact"), 0)
    text = text.replace("d0 side server", "d0 side wireless")
    pepadm("conf", "sync", "-", stdin=text)
    same_lines("conf save", saved(), text)


@case("triggers of a split are kept and read back")
def split():
    """Each as it was given; settings already in force are not touched."""
    for words in "never", "handshake", "loss", "12000", "7,loss":
        text = PLAIN.replace("split 12000,loss", f"split {words}")
        pepadm("conf", "sync", "-", stdin=text)
        same_lines("conf save", saved(), text)
        before = listeners()
        pepadm("conf", "sync", "-", stdin=saved())
        expect("new listeners", listeners() - before, set())
    pepadm("conf", "sync", "-", stdin=PLAIN.replace(" split 12000,loss", ""))
    same_lines("conf save", saved(), PLAIN)


@case("load hands the flows back, sync with fewer lines goes back to defaults")
def load():
    pepadm("limit", "set", "flows", "5")
    pepadm("profile", "set", "default", "residence", "7")
    pepadm("profile", "add", "gold")
    live = flow_of(4)
    with grows(flow_released=1, flow_killed=0, flow_reset=0):
        pepadm("conf", "load", "-", stdin="dev wl0 side wireless\n"
               "dev sv0 side server\n")
        exchange(live, 20000)
    same_lines("conf save", saved(), PLAIN)


@case("an empty configuration, as when the machine's service stops")
def empty():
    """Profiles of the devices are deleted with them, in one step."""
    text = PLAIN.replace("profile default\n", "profile gold\n") + \
        "profile gold\n"
    for _ in range(5):
        pepadm("conf", "sync", "-", stdin=text)
        expect("it says", pepadm("conf", "load", "/dev/null").stderr, "")
        same_lines("conf save", saved(), "\n".join(PLAIN.splitlines()[:2]))


@case("a profile that filters of others use stays, and is told")
def foreign():
    """Other changes do not fail because of it; without those filters it can be
    deleted."""
    pepadm("profile", "add", "gold")
    pepadm("dev", "set", "wl0", "profile", "gold")
    tc("d0", "pref 7 matchall action pepsplit side wireless profile gold")
    live = flow_of(4)
    gold = next(line for line in saved().splitlines()
                if line.startswith("profile gold "))
    for verb, text in ("sync", PLAIN), ("load", ""), ("load", PLAIN):
        with grows(ended=False, flow_released=1 if not text else 0,
                   flow_killed=0, flow_reset=0):
            done = pepadm("conf", verb, "-", stdin=text)
        expect("it says", done.stderr, f"pepadm: conf {verb}: warning: "
               'profile "gold" stays: other tc filters use it, actions: 1\n')
        same_lines("conf save", saved(), gold + "\n" + "".join(
            line + "\n" for line in PLAIN.splitlines()
            if text or not line.startswith("dev")))
    exchange(live, 20000)
    run("tc", "-n", "pep", "qdisc", "del", "dev", "d0", "clsact")
    wait_for("the end of the filter", lambda: uses("gold") == 0)
    expect("it says", pepadm("conf", "sync", "-", stdin=PLAIN).stderr, "")
    same_lines("conf save", saved(), PLAIN)


def filters(dev):
    """The filters of a device by protocol, as pepadm shows them."""
    shown, = json.loads(pepadm("-j", "dev", "show", dev).stdout)
    return {each["protocol"]: each for each in shown["filters"]}


def uneven(family, what):
    """Save warns of filters that its lines cannot express, and sync repairs
    them; flows of a family go on, those of the other one are split again."""
    live = flow_of(family)
    done = pepadm("conf", "save")
    expect("it says", done.stderr,
           f"pepadm: conf save: warning: wl0 has {what}\n")
    if "dev wl0 side wireless profile default\n" not in done.stdout:
        fail(f"conf save: {done.stdout!r}")
    for _ in range(2):
        expect("it says", pepadm("conf", "sync", "-", stdin=PLAIN).stderr, "")
    expect("it says", pepadm("conf", "save").stderr, "")
    expect("filters", list(filters("wl0")), ["ip", "ipv6"])
    for act in filters("wl0").values():
        shown = run("env", f"TC_LIB_DIR={PLUGINS}", "tc", "-n", "pep",
                    "actions", "get", "action", "pepsplit", "index",
                    str(act["action"])).stdout
        if "pepsplit side wireless profile default continue" not in shown:
            fail(f"it is {shown}")
    with grows(flow_established=1, flow_closed=2, flow_reset=0):
        exchange(flow_of(10 - family), 1000)
        exchange(live, 1000)


@case("a filter that somebody has deleted")
def half():
    for family, protocol, other in (4, "ipv6", "ip"), (6, "ip", "ipv6"):
        run("tc", "-n", "pep", "filter", "del", "dev", "wl0", "ingress",
            "protocol", protocol, "pref",
            str(filters("wl0")[protocol]["pref"]), "matchall")
        done = pepadm("dev", "add", "wl0", "side", "wireless", check=False)
        expect("dev add", done.stderr,
               "pepadm: dev add: wl0 already has pep filters\n")
        uneven(family, f"a filter for {other} only, its line says both")


@case("a filter that somebody has changed")
def changed():
    pepadm("profile", "add", "gold")
    for words in "side wireless profile gold", "side server":
        run("env", f"TC_LIB_DIR={PLUGINS}", "tc", "-n", "pep", "actions",
            "replace", "action", "pepsplit", *words.split(), "index",
            str(filters("wl0")["ipv6"]["action"]))
        uneven(4, "filters for ip and ipv6 that differ, its line says one "
               "for both")


@case("a device whose name begins a comment")
def comment():
    """A device can be renamed to such a name; no line without effect is
    written."""
    pepadm("dev", "add", "d0", "side", "server")
    run("ip", "-n", "pep", "link", "set", "d0", "name", "#d0")
    try:
        done = pepadm("conf", "save")
        expect("it says", done.stderr, "pepadm: conf save: warning: #d0 has "
               "no line, as its name would begin a comment\n")
        same_lines("conf save", done.stdout, PLAIN)
        pepadm("conf", "sync", "-", stdin=PLAIN)
        pepadm("dev", "show", "#d0")
        pepadm("dev", "del", "#d0")
    finally:
        run("ip", "-n", "pep", "link", "set", "#d0", "name", "d0")


@case("a device by an alternative name")
def alternative():
    """It is the device: a second sync changes nothing, and there is no line
    for either name."""
    run("ip", "-n", "pep", "link", "property", "add", "dev", "d0", "altname",
        "port0")
    text = PLAIN + "dev port0 side server\n"
    pepadm("conf", "sync", "-", stdin=text)
    same_lines("conf save", saved(),
               PLAIN + "dev d0 side server profile default\n")
    before = filters("d0")
    pepadm("conf", "sync", "-", stdin=text)
    expect("filters", filters("d0"), before)
    done = pepadm("conf", "sync", "-", check=False,
                  stdin=PLAIN + "dev d0 side server\ndev port0 side server\n")
    number = len(PLAIN.splitlines()) + 2
    expect("two lines", (done.returncode, done.stderr),
           (2, f"pepadm: standard input:{number}: conf sync: dev port0: is "
            f"d0, given in line {number - 1}\n"))
    expect("filters", filters("d0"), before)
    run("ip", "-n", "pep", "link", "property", "del", "dev", "d0", "altname",
        "port0")
    pepadm("dev", "del", "d0")


@case("a file whose place is unknown is not overwritten")
def unreachable():
    """In a directory without a path no file can take the place of another."""
    with tempfile.TemporaryDirectory() as path:
        done = run("unshare", "-m", "sh", "-c", f"mount -t tmpfs none {path} "
                   f"&& cd {path} && echo old > file && umount -l {path} && "
                   f"ip netns exec pep {PEPADM} conf save file; echo $?; "
                   "cat file", check=False)
    expect("exit code and file", done.stdout, "1\nold\n")
    expect("message", done.stderr,
           "pepadm: conf save: file: No such file or directory\n")


@case("what does not work changes nothing")
def restored():
    """The kernel refuses a line after others: their changes are reverted, and
    flows go on."""
    live = flow_of(4)
    pepadm("profile", "add", "silver")
    before = saved()
    for text, line, message in (
            ("profile gold\nlimit flows 7\n"
             "profile lead cc-server none-such\n", 3,
             'cc-server: no congestion control "none-such" here'),
            ("profile default mark 3\ndev wl0 side wireless\n"
             "dev sv0 side server\ndev none side server\n", 4,
             'Cannot find device "none"'),
            ("profile gold server-dev none-such\n", 1,
             'server-dev: no device "none-such" here')):
        write(text)
        done = pepadm("conf", "sync", FILE, check=False)
        expect("exit code", done.returncode, 1)
        expect("lines", done.stderr.count("\n"), 1)
        if not done.stderr.startswith(f"pepadm: {FILE}:{line}: conf sync: ") \
                or message not in done.stderr:
            fail(f"it said {done.stderr!r}")
        expect("conf save", saved(), before)
    exchange(live, 1000)


@case("what is wrong in a file is told with its line, and changes nothing")
def check():
    before = saved()
    for text, line, message in (
            ("profile gold\nflow x\n", 2,
             '"flow" is not one of: profile, limit, dev'),
            ("profile\n", 1, "NAME: missing"),
            ("# x\n\nprofile gold mark\n", 3, "mark: value missing"),
            ("profile gold colour red\n", 1, '"colour" is not one of: '),
            ("\0" * 4096, 1, "a zero byte, this is no text"),
            ("limit flows 5\nlimit\0 flows 7\n", 2, "a zero byte, "),
            ("limit flows 5\n# a\0b\n", 2, "a zero byte, "),
            ("limit flows 0\n", 1, "is not a number from 1 to 16777216"),
            ("profile default residence 10001\n", 1,
             'residence: "10001" is not a number from 0 to 10000'),
            ("profile gold wireless-sndbuf 1\n", 1,
             "is not one of: auto, a number from 4096 to 536870912"),
            ("profile gold wireless-max-rate 1bit\n", 1,
             "is not one of: unlimited, a rate from 8Kbit to 1Tbit"),
            ("profile gold connect follow split loss,0\n", 1,
             'split: "0" is not one of: never, handshake, loss, a number '
             "from 1 to 16777216"),
            ("profile gold split handshake,loss\n", 1,
             "split: handshake, which comes first, goes with no other "),
            ("profile gold connect follow source local\n", 1,
             "source: local needs connect early"),
            ("\nprofile gold source local\n", 2,
             "source: local needs connect early"),
            ("profile gold connect truthful\n", 1,
             'connect: "truthful" has gone, use follow'),
            ("profile gold connect truthful source local\n", 1,
             'connect: "truthful" has gone, use follow'),
            ("limit flows 1\nlimit pending 1\n", 2,
             "limit: given in line 1 already"),
            ("dev wl0 side server\n\ndev wl0 side wireless\n", 3,
             "dev wl0: given in line 1 already"),
            ("dev wl0\n", 1, "side: missing"),
            ("dev wl0 side server profile gold\n", 1,
             'no line is about profile "gold"')):
        write(text)
        for verb in "check", "sync", "load":
            done = pepadm("conf", verb, FILE, check=False)
            expect(f"{text!r}: exit code", done.returncode, 2)
            if not done.stderr.startswith(
                    f"pepadm: {FILE}:{line}: conf {verb}: ") or \
                    message not in done.stderr:
                fail(f"{text!r}: it said {done.stderr!r}")
    expect("conf save", saved(), before)
    write(GOLD)
    expect("conf check", pepadm("conf", "check", FILE).stdout, "")
    expect("conf save", saved(), before)
    os.unlink(FILE)
    expect("no file", pepadm("conf", "check", FILE, check=False).stderr,
           f"pepadm: conf check: {FILE}: No such file or directory\n")


@case("a file that cannot be written")
def unwritable():
    done = pepadm("conf", "save", "/proc/none/pep.conf", check=False)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr, "pepadm: conf save: "
           "/proc/none/pep.conf: No such file or directory\n")


@case("dev set, profile replace")
def verbs():
    """The verbs by which configurations are applied."""
    pepadm("profile", "replace", "gold", "mark", "7")
    pepadm("profile", "replace", "gold", "dscp", "3")
    if "profile gold " not in saved() or " mark 0 dscp 3 " not in saved():
        fail("the mark is not the default one")
    live = flow_of(4)
    pepadm("dev", "set", "wl0", "profile", "gold")
    exchange(live, 1000)
    expect("filters", saved().count("wl0 side wireless profile gold"), 1)
    for words, code, message in (
            (("dev", "set", "wl0", "profile", "none"), 1,
             "dev set: profile: no profile of this name"),
            (("dev", "set", "d0", "profile", "gold"), 1,
             "dev set: d0 has no pep filters"),
            (("dev", "set", "wl0"), 2, "dev set: profile: missing")):
        done = pepadm(*words, check=False)
        expect("exit code", done.returncode, code)
        expect("message", done.stderr, f"pepadm: {message}\n")


@case("a profile whose server-dev has gone")
def server_dev():
    """The saved configuration is still in force; a change to another one, and
    back, loses nothing."""
    ip("pep", "link add d2 type dummy", "link set d2 up")
    pepadm("profile", "add", "gold", "server-dev", "d2")
    pepadm("dev", "set", "wl0", "profile", "gold")
    before, live = saved(), listeners()
    pepadm("conf", "sync", "-", stdin=before)
    expect("new listeners", listeners() - live, set())
    ip("pep", "link del d2")
    pepadm("conf", "sync", "-", stdin=before)
    expect("conf save", saved(), before)
    text = """
profile default mark 3
profile gold server-dev d2
dev wl0 side wireless profile gold
dev none side server
"""
    done = pepadm("conf", "sync", "-", check=False, stdin=text)
    expect("exit code", done.returncode, 1)
    expect("lines", done.stderr.count("\n"), 1)
    same_lines("conf save", saved(), before)
    # wl0 need not be attached again with that profile.
    done = pepadm("conf", "load", "-", check=False, stdin=text)
    expect("exit code", done.returncode, 1)
    if "dev sv0 side server profile default" not in saved():
        fail(f"sv0 is not attached again: {saved()!r}")


@case("one change waits for another")
def alone():
    """For any process that makes one: here the test holds the lock."""
    write(PLAIN.replace("residence 50", "residence 90"))
    os.makedirs("/run/pep", mode=0o700, exist_ok=True)
    for words, present in (
            (("conf", "sync", FILE), "residence 90"),
            (("dev", "add", "d0", "side", "server"), "dev d0 "),
            (("dev", "set", "d0", "profile", "gold"), " profile gold"),
            (("dev", "del", "d0"), "dev sv0 ")):
        pepadm("profile", "replace", "gold")
        before = saved()
        lock = os.open("/run/pep", os.O_RDONLY)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX)
            child = subprocess.Popen(
                ["ip", "netns", "exec", "pep", PEPADM, *words],
                stderr=subprocess.PIPE, text=True)
            expect("it says", child.stderr.readline(),
                   f"pepadm: {' '.join(words[:2])}: warning: waiting for "
                   "another pepadm that changes the configuration\n")
            expect("conf save", saved(), before)
        finally:
            os.close(lock)
        expect("exit code", child.wait(30), 0)
        after = saved()
        expect("has it changed", after != before, True)
        if present not in after:
            fail(f"it is not what was wanted: {after!r}")
    pepadm("conf", "sync", "-", stdin=PLAIN)


def steps(filters):
    """The commands by which the guide's service for filters of tc stops, with
    the file that deletes these filters."""
    with open(GUIDE, encoding="utf-8") as file:
        found = re.findall(r"^    ExecStop=-?(.+)$", file.read(), re.MULTILINE)
    expect("commands that delete the filters",
           sum("/etc/pep/filters.del" in line for line in found), 1)
    for line in found:
        for name, here in (("/usr/sbin/pepadm", PEPADM),
                           ("/usr/sbin/tc", "tc"),
                           ("/etc/pep/filters.del", filters),
                           ("/run/pep/flows", os.path.join(_path, "flows"))):
            line = line.replace(name, here)
        yield line


@families("the guide's service for filters of tc stops")
def by_hand(family):
    """A connection that was taken over in mid-stream goes on; one that was
    answered early and a half-closed one cannot, and both ends of these are
    reset."""
    pepadm("conf", "load", "/dev/null")
    kinds = {4: "ip", 6: "ipv6"}
    gone = [f"filter del dev {dev} ingress pref 1{version}\n"
            for dev in ("wl0", "sv0") for version in kinds]
    filters = os.path.join(_path, "filters.del")
    with open(filters, "w", encoding="utf-8") as file:
        file.writelines(gone)
    for dev, side in ("wl0", "wireless"), ("sv0", "server"):
        for version, kind in kinds.items():
            tc(dev, f"matchall action pepsplit side {side}",
               f"pref 1{version} protocol {kind}")
    pep.follow("handshake")
    kept, half = pep.split_pair(family), pep.split_pair(family)
    half[0].shutdown(socket.SHUT_WR)
    pep.early()
    early = pep.split_pair(family)
    exchange_part(early, 20000)
    pep.wait_flows(3)
    with grows(flow_released=1, flow_killed=2, flow_reset=0):
        for line in steps(filters):
            run("sh", "-c", line, ns="pep")
        for sock in (*early, half[0]):
            expect_reset(sock)
        # The FIN has come before.
        wait_for("the other end's reset", lambda: half[1].getsockopt(
            socket.SOL_SOCKET, socket.SO_ERROR) == errno.EPIPE)
        exchange(kept, 20000)
    for dev in "wl0", "sv0":
        expect("filters", run("tc", "-n", "pep", "filter", "show", "dev", dev,
                              "ingress").stdout, "")
    expect("devices", pep.devices(), [])


def waiting(text, seconds):
    """Start a sync that waits; return the process, and the line that names the
    missing device."""
    write(text)
    child = subprocess.Popen(
        ["ip", "netns", "exec", "pep", PEPADM, "conf", "sync", FILE, "wait",
         str(seconds)], stderr=subprocess.PIPE, text=True)
    return child, child.stderr.readline()


@case("devices that are to come are waited for")
def late():
    """One exists before it is renamed, the other is named by a profile that
    no device has; nothing changes before both exist."""
    before = saved()
    text = PLAIN + "profile gold server-dev late1\n" \
        "dev late0 side wireless\n"
    child, told = waiting(text, 60)
    expect("it says", told, f"pepadm: {FILE}:5: conf sync: warning: "
           'waiting for device "late1"\n')
    ip("pep", "link add late1 type dummy")
    expect("it says", child.stderr.readline(), f"pepadm: {FILE}:6: conf sync: "
           'warning: waiting for device "late0"\n')
    expect("conf save", saved(), before)
    ip("pep", "link add early0 type dummy", "link set early0 name late0")
    expect("exit code", child.wait(30), 0)
    expect("it says", child.stderr.read(), "")
    if "dev late0 side wireless profile default" not in saved():
        fail(f"late0 is not attached: {saved()!r}")
    ip("pep", "link del late0", "link del late1")


@case("a device that is optional is left out while it is not there")
def optional():
    before = saved()
    write(PLAIN + "dev late0 side wireless optional on\n")
    warning = (f"pepadm: {FILE}:5: conf sync: warning: left out: "
               'Cannot find device "late0"\n')
    for present in False, True, False:
        if present:
            ip("pep", "link add late0 type dummy")
        done = pepadm("conf", "sync", FILE, "wait", "3600")
        expect("it says", done.stderr, "" if present else warning)
        lines = set(saved().splitlines()) - set(before.splitlines())
        expect("more lines", lines, {"dev late0 side wireless profile default"}
               if present else set())
        if present:
            ip("pep", "link del late0")
    write(PLAIN + "dev late0 side wireless optional off\n")
    expect("exit code", pepadm("conf", "sync", FILE, check=False).returncode,
           1)
    done = pepadm("dev", "add", "late0", "side", "wireless", "optional", "on",
                  check=False)
    expect("exit code", done.returncode, 2)
    expect("message", done.stderr,
           'pepadm: dev add: "optional" is not one of: side, profile\n')


@case("a device that does not come is told, and nothing is changed")
def never():
    before = saved()
    child, _ = waiting(PLAIN.replace("residence 50", "residence 90") +
                       "dev late0 side wireless\n", 1)
    expect("exit code", child.wait(30), 1)
    expect("it says", child.stderr.read(),
           f'pepadm: {FILE}:5: conf sync: Cannot find device "late0"\n')
    expect("conf save", saved(), before)
    for words, message in (
            (("sync", FILE, "wait"), "wait: missing"),
            (("load", FILE, "wait", "0"),
             'wait: "0" is not a number from 1 to 4294967295'),
            (("sync", FILE, "wait", "1", "2"), '"2": unexpected word'),
            (("check", FILE, "wait", "1"), '"wait": unexpected word')):
        done = pepadm("conf", *words, check=False)
        expect("exit code", done.returncode, 2)
        expect("message", done.stderr,
               f"pepadm: conf {words[0]}: {message}\n")
