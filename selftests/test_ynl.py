# SPDX-License-Identifier: GPL-2.0
"""The kernel's own netlink tools can use the family with only its
specification, and the example for them in the documents works."""

import json
import os

from peptest import env, pep
from peptest.ktap import (case, expect, expect_between, expect_least,
                          families)
from peptest.netns import addr, delayed, run
from peptest.pep import pepadm, split_pair
from peptest.tcp import PORT, exchange, exchange_part, pair

TRAITS = {"once", "programs"}

SPEC = os.path.join(env.TOP, "Documentation/netlink/specs/pep.yaml")
EXAMPLE = os.path.join(env.TOP, "Documentation/netlink/flows.py")


def setup():
    """Attached; no flow exists."""
    pep.warmed()


def cli(*words, check=True):
    """The parsed JSON output of cli.py."""
    done = run("/usr/bin/python3", os.path.join(env.YNL, "cli.py"), "--spec",
               SPEC, "--no-schema", "--output-json", *words, ns="pep",
               check=check)
    return json.loads(done.stdout) if check else done


@families("a flow, dumped with a filter")
def flow(family):
    """Addresses and numbers have their values."""
    both = split_pair(family)
    exchange_part(both, 1000)
    port = both[0].getsockname()[1]
    found, = cli("--dump", "flow-get", "--json",
                 json.dumps({"subscriber-port": port}))
    for key, value in {
            "subscriber-addr": addr("sub", family), "subscriber-port": port,
            "server-addr": addr("srv", family), "server-port": PORT,
            "state": "established", "opener": "wireless",
            "profile": "default", "bytes-to-wireless": 1000,
            "bytes-to-server": 1000, "dev": "wl0"}.items():
        expect(key, found[key], value)
    for side, dev in ("wireless", "wl0"), ("server", "sv0"):
        expect("device", found[side]["dev"], dev)
        expect_least("packets", found[side]["data-segs-out"], 1)
    expect("congestion control", [found[side]["cc"] for side in
                                  ("wireless", "server")],
           ["pep_bbr", "cubic"])
    expect("flows with another port", cli(
        "--dump", "flow-get", "--json",
        json.dumps({"subscriber-port": port % 65535 + 1})), [])
    exchange(both, 10)
    pep.flows_end()


@case("a profile, made and looked at")
def profile():
    """New values are returned; values out of range are refused."""
    cli("--do", "profile-add", "--json",
        '{"name": "ynl", "cc-wireless": "cubic", "residence": 80, '
        '"split-trigger": ["loss", "bytes"], "split-bytes": 5000}')
    found = cli("--do", "profile-get", "--json", '{"name": "ynl"}')
    expect("settings", (found["cc-wireless"], found["residence"]),
           ("cubic", 80))
    expect("triggers", (sorted(found["split-trigger"]), found["split-bytes"]),
           (["bytes", "loss"], 5000))
    bad = cli("--do", "profile-set", "--json",
              '{"name": "ynl", "residence": 10001}', check=False)
    expect("refused", (bad.returncode != 0, "Numerical result" in bad.stderr +
                       bad.stdout or "Invalid" in bad.stderr + bad.stdout),
           (True, True))
    expect("after it", cli("--do", "profile-get", "--json",
                           '{"name": "ynl"}')["residence"], 80)
    cli("--do", "profile-del", "--json", '{"name": "ynl"}')


@case("counters")
def counters():
    """The same names, the same numbers."""
    told = cli("--do", "stat-get")
    mine = pep.stats()
    expect("split", told["split-handshake"], mine["split_handshake"])
    expect_least("split", told["split-handshake"], 1)


@case("what both groups of a profile got")
def gain():
    """A message for each group, and for each size of its objects, including
    connections that are too short to be split."""
    pepadm("profile", "set", "default", "control", "50%")
    before = pep.stat("split_pass_control")
    for _ in range(20):
        both = pair(4)
        exchange(both, 1000)
    pep.flows_end()
    held = pep.stat("split_pass_control") - before
    found = cli("--dump", "gain-get")
    pepadm("profile", "set", "default", "control", "off")
    expect("none without a control group", cli("--dump", "gain-get"), [])
    told = {(one["group"], one.get("size")): one for one in found}
    expect("messages", len(told), len(found))
    for group, count in ("control", held), ("treated", 20 - held):
        one = told[group, None]
        expect(f"{group}: connections", one["connections"], count)
        expect(f"{group}: share, by", (one["control"], one["control-by"]),
               (5000, "connection"))
        expect(f"{group}: objects", told[group, 0]["connections"],
               one["connections"])
    known = cli("--do", "path-stat-get")
    expect("links", sorted(known),
           ["by-rate", "by-rtt", "sum-rate", "sum-rtt-us"])


@case("the example of the documents")
def example():
    """Flows by profile."""
    argv = "/usr/bin/python3", EXAMPLE, env.YNL, SPEC
    with delayed():
        ends = [split_pair(family) for family in (4, 6)]
        for both in ends:
            exchange_part(both, 1000)
    row = run(*argv, ns="pep").stdout.split()
    expect("profile, flows, bytes", row[:3], ["default", "2", "4000"])
    expect_between("round trip, ms", float(row[3]), .001, 60000)
    expect_between("sent again, %", float(row[4]), 0, 100)
    expect("at another port", run(*argv, str(PORT + 1), ns="pep").stdout, "")
    bad = run(*argv[:2], ns="pep", check=False)
    expect("without arguments", (bad.returncode, bad.stderr),
           (2, "usage: flows.py YNL SPEC [PORT]\n"))
    for both in ends:
        exchange(both, 10)
