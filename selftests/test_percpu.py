# SPDX-License-Identifier: GPL-2.0
"""The counters of each CPU add up to those of the namespace, and show which
CPU does the work."""

import json
import os

from peptest import env, pep
from peptest.cpu import online
from peptest.ktap import (after_case, case, expect, expect_between, fail,
                          families)
from peptest.netns import rps, run
from peptest.pep import pepadm
from peptest.tcp import exchange, exchange_part, pair

TRAITS = {"machine", "races"}

CPUS = sorted(os.sched_getaffinity(0))
LAST = CPUS[-1]
BYTES = 20000


@after_case
def back():
    """Restore the CPU and the affinity."""
    online(LAST, True)
    os.sched_setaffinity(0, CPUS)


def told(ns="pep"):
    """Counters by CPU."""
    found = json.loads(pepadm("-j", "stat", "show", "percpu", ns=ns).stdout)
    numbers = [each["cpu"] for each in found]
    expect("CPUs, each once", numbers, sorted(set(numbers)))
    return {each["cpu"]: each["counters"] for each in found}


def traffic(family):
    """Some payload each way, then the connection is closed."""
    both = pep.split_pair(family)
    exchange_part(both, BYTES)
    for sock in both:
        sock.close()
    pep.flows_end()


def expect_sums():
    """Fail unless each counter is the sum of those of the CPUs. Meanwhile
    neighbours exchange packets, and pools are filled up."""
    before = pep.stats()
    each = told()
    after = pep.stats()
    for counters in each.values():
        for name, number in counters.items():
            if name not in before or not number:
                fail(f"{name} is {number}")
    for name in set(before) - {"flows", "pending", "followed_limit"}:
        total = sum(counters.get(name, 0) for counters in each.values())
        low, high = sorted((before[name], after[name]))
        expect_between(name, total, low, high)


@families("they add up to those of the namespace")
def sums(family):
    traffic(family)
    expect_sums()
    expect("CPUs", sorted(told()), CPUS)


def growth(family, cpu):
    """The growth of counters by CPU when one CPU receives all packets."""
    rps("pep", {"wl0": 1 << cpu, "sv0": 1 << cpu})
    before = told()
    traffic(family)
    after = told()
    return {number: {name: value - before[number].get(name, 0)
                     for name, value in counters.items()}
            for number, counters in after.items()}


@families("they tell which CPU does the work")
def steered(family):
    """Both ends run on the first CPU, and RPS steers their packets."""
    os.sched_setaffinity(0, {CPUS[0]})
    for cpu in LAST, CPUS[0]:
        for number, grown in growth(family, cpu).items():
            for name in "bytes_to_wireless", "bytes_to_server":
                expect(f"{name} of CPU {number} with packets to {cpu}",
                       grown.get(name, 0), BYTES if number == cpu else 0)
            for name in "delivered", "relay_send", "flow_established":
                expect(f"{name} of CPU {number} with packets to {cpu}",
                       grown.get(name, 0) > 0, number == cpu)


@case("CPUs that are offline")
def offline():
    """The counts of an offline CPU stay; one without counts is not shown."""
    rps("pep", {"wl0": 1 << LAST, "sv0": 1 << LAST})
    traffic(4)
    online(LAST, False)
    if "delivered" not in told()[LAST]:
        fail("its counters have gone")
    expect_sums()
    expect("where nothing was counted", told("sub"),
           {cpu: {} for cpu in CPUS[:-1]})
    online(LAST, True)
    expect("once more", told("sub"), {cpu: {} for cpu in CPUS})


@case("as text")
def text():
    """A row for each counter of any CPU, in columns; one has the longest
    name."""
    pepadm("profile", "set", "default", "max-flows", "1")
    with pep.grows(ended=False, split_pass_profile_flows=1):
        held = pep.split_pair(4)
        exchange_part(pair(4), BYTES)
    pepadm("profile", "set", "default", "max-flows", "0")
    exchange(held, 10)
    traffic(4)
    before = told()
    lines = pepadm("stat", "show", "percpu").stdout.splitlines()
    after = told()
    expect("the first line", lines[0].split(),
           ["NAME", *(f"CPU{cpu}" for cpu in CPUS)])
    expect("lengths of lines", {len(line) for line in lines},
           {len(lines[0])})
    rows = {name: [int(number) for number in numbers]
            for name, *numbers in (line.split() for line in lines[1:])}
    first, last = ([name for name in pep.STATS.values()
                    if any(name in counters for counters in each.values())]
                   for each in (before, after))
    expect("counters", [name for name in rows if name in first], first)
    expect("those that are new", [name for name in last if name in rows],
           list(rows))
    for name, numbers in rows.items():
        for cpu, number in zip(CPUS, numbers):
            low, high = sorted((before[cpu].get(name, 0),
                                after[cpu].get(name, 0)))
            expect_between(f"{name} of CPU {cpu}", number, low, high)


@case("anybody may ask")
def anybody():
    """As for all counters."""
    done = run("setpriv", "--reuid", "65534", "--clear-groups", env.PEPADM,
               "stat", "show", "percpu", ns="pep")
    expect("the first word", done.stdout.split()[0], "NAME")
