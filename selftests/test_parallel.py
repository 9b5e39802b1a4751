# SPDX-License-Identifier: GPL-2.0
"""Commands of several administrators at once: profiles that are added, changed
and deleted, whole configurations, devices, limits and killed flows, during
traffic. Each succeeds or reports the reason; afterwards one more command
brings the gateway into a defined state."""

import json
import random
import re
import threading

from peptest import pep, rtnl, service
from peptest.env import DEBUG
from peptest.ktap import case, expect, fail, families, note
from peptest.netns import ip
from peptest.pep import PLAIN, grows, pepadm
from peptest.tcp import exchange, pair, reset

TRAITS = {"machine", "races"}

THREADS = 4
ROUNDS = 1 if DEBUG else 6     # of all commands per administrator
SECONDS = 400
DETACHED = 20           # times
OTHER = """\
profile gold cc-wireless cubic residence 80
profile default connect early
limit flows 500
dev wl0 side wireless profile gold
dev sv0 side server
"""
NO_PROFILE = r"(name|profile): no profile of this name"
NO_FILTERS = r"\w+ has no pep filters"
HAS_FILTERS = r"\w+ already has pep filters"
# Messages of the kernel when another process has been faster with a qdisc or a
# filter.
FASTER = ("File exists", "Parent Qdisc doesn't exists", ".* not found",
          "Cannot find specified .*",
          "Cannot delete qdisc with handle of zero")
# Errors when another process interferes with a change of the configuration.
CHANGED = (NO_PROFILE, NO_FILTERS, HAS_FILTERS, *FASTER,
           "name: a device uses the profile")
# Warnings that are always possible, about half finished changes.
WARNINGS = (r"warning: \w+ has a filter for ipv?6? only, its line says both",
            r"warning: \w+ has filters for ip and ipv6 that differ, .*",
            r'warning: profile "gold" stays: other tc filters use it, .*',
            "warning: not all of what was configured before could be restored",
            "warning: waiting for another pepadm that changes the "
            "configuration")
# The commands, and the errors that each may return.
COMMANDS = {
    "profile add gold mark 7": ("name: the profile exists",),
    "profile set gold residence 30": (NO_PROFILE,),
    "profile set default cc-wireless cubic live": (),
    "profile del gold": (NO_PROFILE, "name: a device uses the profile"),
    "profile show": (),
    "flow show": (),
    "stat show": (),
    "conf show": (),
    "flow kill all": (),
    "limit set flows 1000": (),
    "drain on": (),
    "drain off": (),
    "dev add d0 side server": (HAS_FILTERS, *FASTER),
    "dev del d0": (NO_FILTERS, *FASTER),
    "conf sync usual": CHANGED,
    "conf sync other": CHANGED,
    "conf load usual": CHANGED,
    "conf load other": CHANGED,
}


class Admin(threading.Thread):
    """Repeats all commands, in an order of its own."""

    def __init__(self, number):
        super().__init__(daemon=True)
        self.order = random.Random(number)
        self.said = []
        self.error = None
        self.start()

    def run(self):
        try:
            for _ in range(ROUNDS):
                for line in self.order.sample(list(COMMANDS), len(COMMANDS)):
                    self.said.append((line, command(line)))
        except Exception as what:   # pylint: disable=broad-except
            self.error = what


def command(line):
    """Run a command; return the completed process."""
    words = [service.path(word) if word in ("usual", "other") else word
             for word in line.split()]
    return pepadm(*words, check=False)


def setup():
    """Attached, with another device; writes the files."""
    pep.attached()
    ip("pep", "link add d0 type veth peer name d1")
    service.write("usual", PLAIN)
    service.write("other", OTHER)


def traffic(admins):
    """Connections with a little payload, one after the other, until no
    administrator is active; return the numbers of good and failed ones."""
    good = bad = 0
    while any(admin.is_alive() for admin in admins):
        family = (4, 6)[(good + bad) % 2]
        both = ()
        try:
            both = pair(family)
            both[0].sendall(b"x" * 1000)
            good += 1
        except OSError:
            bad += 1
        for sock in both:
            reset(sock)
    return good, bad


def reasoned(line, said):
    """Is each line of the output an error allowed for this command?"""
    place = r"pepadm: (\S+:\d+: )?" + " ".join(line.split()[:2]) + ": "
    known = "|".join((*WARNINGS, *COMMANDS[line]))
    return all(re.fullmatch(f"{place}({known})", each)
               for each in said.splitlines())


def judged(admins):
    """Fail unless each command has succeeded, or given a reason; return the
    number of successful ones."""
    done = 0
    for line, what in (each for admin in admins for each in admin.said):
        done += not what.returncode
        if (what.returncode not in (0, 1) or
                what.returncode and not what.stderr or
                not reasoned(line, what.stderr)):
            fail(f"{line}: {what.returncode}, {what.stderr!r}")
    return done


@case("detached while others ask for filters")
def asked():
    """The kernel deletes no qdisc in the meantime."""
    asking = [rtnl.Asking("pep", "d0") for _ in range(2)]
    try:
        for _ in range(DETACHED):
            pepadm("dev", "add", "d0", "side", "server")
            pepadm("dev", "del", "d0")
    finally:
        for each in asking:
            each.halt = True
            each.join()


@case("all at once", seconds=SECONDS)
def parallel():
    admins = [Admin(number) for number in range(THREADS)]
    note("connections that carried something, that did not:",
         *traffic(admins))
    for admin in admins:
        admin.join()
        if admin.error:
            raise admin.error
    note(judged(admins), "of", THREADS * ROUNDS * len(COMMANDS),
         "commands were done")
    pepadm("conf", "sync", service.path("usual"))
    expect("what is configured", sorted(pepadm("conf", "save").stdout
                                        .splitlines()),
           sorted(PLAIN.splitlines()))
    expect("filters", {dev["dev"]: len(dev["filters"]) for dev in json.loads(
        pepadm("-j", "dev", "show").stdout)}, {"wl0": 2, "sv0": 2})
    pepadm("drain", "off")
    pepadm("flow", "kill", "all")
    pep.flows_end()
    service.services_down()


@families("afterwards connections are split")
def after(family):
    pep.follow("handshake")
    with grows(split_handshake=1, flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family), 100000)
