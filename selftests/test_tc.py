# SPDX-License-Identifier: GPL-2.0
"""tc with the plugin of tools/tc: it parses the options of the action
pepsplit, prints them, and accepts its own output as input."""

import errno
import json
import re
import struct

from peptest import genl, pep, rtnl
from peptest.env import PLUGINS
from peptest.ktap import (after_case, case, expect, expect_between,
                          expect_least, expect_most, fail, families, wait_for)
from peptest.netns import addr, ip, run
from peptest.pep import grows, pepadm
from peptest.tcp import exchange, pair

SIDES = {"wl0": "wireless", "sv0": "server"}
PROTOCOLS = {4: "ip", 6: "ipv6"}
TIMES = {"installed", "last_used", "first_used"}
BYTES = 100000


def tc(line, *options, check=True):
    """Run tc with the plugin in the gateway."""
    return run("env", f"TC_LIB_DIR={PLUGINS}", "tc", *options, "-n", "pep",
               *line.split(), check=check)


def told(line, *options):
    """The actions in the JSON of a command."""
    found = []
    for part in json.loads(tc(line, "-j", *options).stdout or "[]"):
        found += part.get("actions", [])
        found += part.get("options", {}).get("actions", [])
    return found


def action(index):
    """One action: its JSON, without the keys on its use."""
    got, = told(f"actions get action pepsplit index {index}")
    return {key: got[key] for key in got if key not in ("order", "ref", "bind",
                                                        "not_in_hw")}


def words(index):
    """One action as text, as tc accepts it."""
    out = tc(f"actions get action pepsplit index {index}").stdout
    found = re.search(r"action order \d+: (pepsplit .*)\n\t "
                      r"(index \d+) ref \d+ bind \d+$", out, re.MULTILINE)
    if not found:
        fail(f"tc printed {out!r}")
    return f"{found[1]} {found[2]}"


def indexes():
    """The indexes of all actions."""
    return sorted(act["index"] for act in told("actions ls action pepsplit"))


def users(profile):
    """Number of actions that use a profile."""
    shown, = json.loads(pepadm("-j", "profile", "show", profile).stdout)
    return shown["devices"]


def setup():
    """Loaded, and a profile besides the default one."""
    pep.detached()
    run("modprobe", "-q", "cls_flower", check=False)
    pepadm("profile", "add", "gold", "cc-wireless", "cubic", "split",
           "handshake")
    pepadm("profile", "set", "default", "split", "handshake")


@after_case
def clean():
    """Nothing stays attached."""
    for dev in SIDES:
        tc(f"qdisc del dev {dev} clsact", check=False)
    if pep.loaded():
        # Filters release their actions a little after they are deleted.
        wait_for("the last use of an action", lambda: not tc(
            "actions flush action pepsplit", check=False).returncode)
        expect("actions", indexes(), [])


def attach(family, options=""):
    """Filters for one family on both devices."""
    for dev, side in SIDES.items():
        tc(f"qdisc add dev {dev} clsact")
        tc(f"filter add dev {dev} ingress protocol {PROTOCOLS[family]} "
           f"matchall action pepsplit side {side} {options}")


def traffic(family, opener, opened):
    """Packets of filters with options are counted, in text and in JSON."""
    attach(family, "profile gold")
    with grows(flow_established=1, flow_closed=1):
        both = pep.split_pair(family, opener, opened)
        expect("profile", pep.flows()[0]["profile"], "gold")
        exchange(both, BYTES)
    with grows(follow_new=0, flow_established=0):
        exchange(pair(10 - family, opener, opened), 1000)
    for dev, side in SIDES.items():
        show = f"filter show dev {dev} ingress"
        # A time of 0 is omitted.
        wait_for("times", lambda: all(
            TIMES <= act.keys()
            for act in told(show, "-s")))  # pylint: disable=W0640
        act, = told(show, "-s")
        expect("kind", act["kind"], "pepsplit")
        expect("side", act["side"], side)
        expect("profile", act["profile"], "gold")
        expect("control", act["control_action"], {"type": "continue"})
        expect("actions and filters", (act["ref"], act["bind"]), (1, 1))
        expect_least("bytes", act["stats"]["bytes"], BYTES)
        expect_least("packets", act["stats"]["packets"], 5)
        for key in TIMES:
            expect_between(key, act[key], 0, 99)
        text = tc(show, "-s").stdout
        found = re.search(
            f": pepsplit side {side} profile gold continue\n"
            f"\t index {act['index']} ref 1 bind 1 installed .*\n"
            r"\tAction statistics:\n\tSent (\d+) bytes (\d+) pkt", text)
        if not found:
            fail(f"tc printed {text!r}")
        # Meanwhile a neighbour may have been solicited.
        expect_least("bytes in text", int(found[1]), act["stats"]["bytes"])
        expect_least("packets in text", int(found[2]),
                     act["stats"]["packets"])
        if "installed" in tc(show).stdout:
            fail("there are times without -s")


families("filters of tc, the subscriber opens", "sub", "srv")(traffic)
families("filters of tc, the server opens", "srv", "sub")(traffic)


@families("a classifier of ports")
def ports(family):
    """Only packets that it selects are split."""
    for dev, port in ("wl0", "dst_port"), ("sv0", "src_port"):
        tc(f"qdisc add dev {dev} clsact")
        tc(f"filter add dev {dev} ingress protocol {PROTOCOLS[family]} flower "
           f"ip_proto tcp {port} 5000 action pepsplit side {SIDES[dev]}")
    with grows(follow_new=1, flow_established=1):
        exchange(pep.split_pair(family), BYTES)
        exchange(pair(family, port=5001), BYTES)


def redirected():
    """Bytes that both devices have redirected to another one."""
    return sum(act["stats"]["bytes"] for dev in SIDES
               for act in told(f"filter show dev {dev} ingress", "-s")
               if act["kind"] == "mirred")


@families("a redirect to ifb behind pepadm's filters, to shape at ingress",
          False)
@families("a redirect to ifb in the same filters", True)
def ifb(family, same):
    """Split connections pass it by, and others do not. In front of pep's
    filters it would keep the packets from pep: they come back from ifb behind
    all filters."""
    run("modprobe", "-qa", "act_mirred", "ifb", "cls_matchall", check=False)
    ip("pep", "link add ifb0 type ifb", "link set ifb0 up")
    redirect = "action mirred egress redirect dev ifb0"
    for dev, side in SIDES.items():
        if same:
            tc(f"qdisc add dev {dev} clsact")
            tc(f"filter add dev {dev} ingress protocol {PROTOCOLS[family]} "
               f"matchall action pepsplit side {side} pipe {redirect}")
        else:
            pepadm("dev", "add", dev, "side", side)
            tc(f"filter add dev {dev} ingress pref 49155 matchall {redirect}")
    if not same:
        pep.ready()
    with grows(flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family), BYTES)
    expect_most("bytes of the split connection", redirected(), 5000)
    pepadm("profile", "set", "default", "split", "never")
    try:
        with grows(follow_new=1, flow_established=0):
            exchange(pair(family), BYTES)
    finally:
        pepadm("profile", "set", "default", "split", "handshake")
    expect_least("bytes of the followed one", redirected(), 2 * BYTES)
    ip("pep", "link del ifb0")


@families("a policer in front of pepadm's filters")
def police(family):
    """With the words of README.md the packets within its rate go on to pep."""
    run("modprobe", "-qa", "act_police", "cls_matchall", check=False)
    for dev, side in SIDES.items():
        pepadm("dev", "add", dev, "side", side)
    tc("filter add dev wl0 ingress pref 10 matchall action police "
       "rate 10gbit burst 10m conform-exceed drop/continue")
    pep.ready()
    with grows(flow_established=1, flow_closed=1):
        exchange(pep.split_pair(family), BYTES)
    expect_least("bytes that it has seen", sum(
        act["stats"]["bytes"]
        for act in told("filter show dev wl0 ingress", "-s")
        if act["kind"] == "police"), BYTES)


@case("a filter for each family, as where only IPv4 is masqueraded")
def each_family():
    """The server sees the gateway's address over IPv4, the client's over
    IPv6."""
    pepadm("profile", "add", "nat", "connect", "early", "source", "local")
    pepadm("dev", "add", "sv0", "side", "server")
    tc("qdisc replace dev wl0 clsact")
    tc("filter add dev wl0 ingress pref 10 protocol ip matchall "
       "action pepsplit side wireless profile nat")
    tc("filter add dev wl0 ingress pref 11 protocol ipv6 matchall "
       "action pepsplit side wireless")
    for family, profile, source in ((4, "nat", addr("sv", 4)),
                                    (6, "default", addr("sub", 6))):
        with grows(flow_established=1, flow_closed=1):
            both = pep.split_pair(family)
            expect("profile", pep.flows()[0]["profile"], profile)
            expect("source", both[1].getpeername()[0], source)
            exchange(both, BYTES)


@case("filters added twice are there once")
def twice():
    """As when a device that was made anew gets them, and others have them."""
    show = "filter show dev wl0 ingress"
    tc("qdisc replace dev wl0 clsact")
    for status in 0, 2:
        for line in ("pref 10 protocol ip flower ip_proto tcp",
                     "pref 11 protocol ip matchall",
                     "pref 12 protocol ip handle 800::1 u32 match u32 0 0"):
            expect("exit code", tc(
                f"filter add dev wl0 ingress {line} action pepsplit side "
                "wireless", check=False).returncode, status)
        expect("actions", len(told(show)), 3)


@case("what is printed can be typed", seconds=240)
def typed():
    """In any order, with and without default values."""
    for number, (options, side, profile, control, more) in enumerate((
            ("side wireless", "wireless", "default", "continue", {}),
            ("side server", "server", "default", "continue", {}),
            ("profile gold side server", "server", "gold", "continue", {}),
            ("continue side wireless", "wireless", "default", "continue", {}),
            ("side wireless profile gold pass", "wireless", "gold", "pass",
             {}),
            ("side wireless ok", "wireless", "default", "pass", {}),
            ("drop side wireless profile default", "wireless", "default",
             "drop", {}),
            ("side server pipe", "server", "default", "pipe", {}),
            ("side server reclassify", "server", "default", "reclassify", {}),
            ("side server trap", "server", "default", "trap", {}),
            ("side server jump 2 profile gold", "server", "gold", "jump",
             {"jump": 2})), 4294967280):
        wanted = {"kind": "pepsplit", "side": side, "profile": profile,
                  "control_action": {"type": control, **more},
                  "index": number}
        tc(f"actions add action pepsplit {options} index {number}")
        expect(options, action(number), wanted)
        line = words(number)
        tc(f"actions del action pepsplit index {number}")
        tc(f"actions add action {line}")
        expect("printed again", words(number), line)


@case("a chain to go on with")
def chain():
    """It exists only with a filter."""
    tc("qdisc add dev wl0 clsact")
    tc("filter add dev wl0 ingress pref 1 matchall action pepsplit "
       "side wireless goto chain 42 index 5")
    expect("control", action(5)["control_action"],
           {"type": "goto", "chain": 42})
    line = words(5)
    tc("filter del dev wl0 ingress pref 1")
    tc(f"filter add dev wl0 ingress pref 1 matchall action {line}")
    expect("printed again", words(5), line)


@case("other actions behind it")
def others():
    """The plugin leaves words of tc and of other kinds to them."""
    tc("qdisc add dev wl0 clsact")
    tc("filter add dev wl0 ingress matchall action pepsplit side wireless "
       "pipe cookie 0abc no_percpu action gact pass")
    acts = told("filter show dev wl0 ingress")
    expect("kinds", [act["kind"] for act in acts], ["pepsplit", "gact"])
    expect("cookie", acts[0]["cookie"], "0abc")


@case("get, list, replace, change, delete")
def change():
    tc("actions add action pepsplit side wireless index 1 "
       "action pepsplit side server profile gold index 2")
    expect("all", indexes(), [1, 2])
    expect("users of gold", users("gold"), 1)
    tc("actions replace action pepsplit side wireless profile gold pass "
       "index 1")
    expect("users of gold", users("gold"), 2)
    expect("replaced", words(1),
           "pepsplit side wireless profile gold pass index 1")
    tc("actions change action pepsplit side server index 2")
    expect("users of gold", users("gold"), 1)
    expect("changed", words(2),
           "pepsplit side server profile default continue index 2")
    tc("actions replace action pepsplit side server index 3")
    expect("with one more", indexes(), [1, 2, 3])
    tc("actions del action pepsplit index 2")
    expect("without one", indexes(), [1, 3])


@families("replaced under a flow")
def replace(family):
    """The flow goes on; new ones have the new profile."""
    attach(family)
    live = pep.split_pair(family)
    for dev, side in SIDES.items():
        act, = told(f"filter show dev {dev} ingress")
        tc(f"actions replace action pepsplit side {side} profile gold "
           f"index {act['index']}")
    new = pep.split_pair(family)
    expect("profiles", sorted(flow["profile"] for flow in pep.flows()),
           ["default", "gold"])
    with grows(flow_closed=2, flow_reset=0, flow_killed=0):
        exchange(live, BYTES)
        exchange(new, BYTES)


@case("filters that share an action")
def shared():
    """It is bound only by its index, and cannot be deleted meanwhile."""
    tc("actions add action pepsplit side wireless profile gold index 9")
    tc("qdisc add dev wl0 clsact")
    for protocol in PROTOCOLS.values():
        tc(f"filter add dev wl0 ingress protocol {protocol} matchall "
           "action pepsplit index 9")
    act, other = told("filter show dev wl0 ingress")
    expect("index", (act["index"], other["index"]), (9, 9))
    expect("users", (act["ref"], act["bind"]), (3, 2))
    expect("users of gold", users("gold"), 1)
    if not tc("actions del action pepsplit index 9", check=False).returncode:
        fail("it was deleted")
    expect("users of gold", users("gold"), 1)


def refused(line, message):
    """Fail unless tc refuses a line with a message."""
    done = tc(line, check=False)
    if not done.returncode:
        fail(f"{line}: taken")
    if message not in done.stderr:
        fail(f"{line}: it said {done.stderr!r}")


@case("what is wrong is refused, and changes nothing", seconds=240)
def wrong():
    tc("actions add action pepsplit side wireless profile gold index 1")
    before = tc("actions ls action pepsplit").stdout
    number = "is wrong: index is a number from 1 to 4294967295"
    name = "is wrong: profile has 1 to 15 characters"
    incomplete = "Command line is not complete"
    for options, message in (
            ("", '"side" is required'),
            ("profile gold", '"side" is required'),
            ("side", incomplete),
            ("side radio", '"radio" is wrong: side is wireless or server'),
            ("side 0", '"0" is wrong: side is wireless or server'),
            ("side wireless side server", 'duplicate "side": "server"'),
            ("side wireless profile", incomplete),
            ("side wireless profile abcdefghijklmnop",
             '"abcdefghijklmnop" ' + name),
            ("side wireless profile gold profile gold",
             'duplicate "profile": "gold"'),
            ("side wireless profile none",
             "profile: no profile of this name"),
            ("side wireless index", incomplete),
            ("side wireless index 0", '"0" ' + number),
            ("side wireless index -1", '"-1" ' + number),
            ("side wireless index 4294967296", '"4294967296" ' + number),
            ("side wireless index 1x", '"1x" ' + number),
            ("side wireless index 2 index 3", 'duplicate "index": "3"'),
            ("side wireless pass drop", 'duplicate "CONTROL": "drop"'),
            ("side wireless goto chain x", 'Illegal "chain index"'),
            ("side wireless goto chain 5", "chain"),
            ("side wireless jump -1", 'Invalid "jump count"'),
            ("side wireless profil gold", "profil"),
            ("index 7", "side: is required"),
            ("side wireless help", "Usage: ... pepsplit side SIDE"),
            ("help", "Usage: ... pepsplit side SIDE")):
        refused(f"actions add action pepsplit {options}", message)
    refused("actions add action pepsplit side server index 1",
            "index: an action of this number is there")
    for options, message in (
            ("side server profile none", "profile: no profile of this name"),
            ("profile default", "side: is required"),
            ("side radio", '"radio" is wrong')):
        refused(f"actions replace action pepsplit {options} index 1", message)
    refused("actions get action pepsplit index 7", "not found")
    refused("actions del action pepsplit index 7", "not found")
    expect("actions", tc("actions ls action pepsplit").stdout, before)
    expect("users of gold", users("gold"), 1)


@case("what pepadm attached, tc shows")
def of_pepadm():
    pepadm("dev", "add", "wl0", "side", "wireless", "profile", "gold")
    show = "filter show dev wl0 ingress"
    for profile in "gold", "default":
        acts = told(show)
        expect("profiles", [act["profile"] for act in acts], [profile] * 2)
        expect("sides", {act["side"] for act in acts}, {"wireless"})
        expect("lines", tc(show).stdout.count(
            f": pepsplit side wireless profile {profile} continue\n"), 2)
        expect("actions", indexes(), sorted(act["index"] for act in acts))
        pepadm("dev", "set", "wl0", "profile", "default")
    pepadm("dev", "del", "wl0")


@case("an action without options, or without its fixed part or side")
def bare():
    """tc's plugin always sends them."""
    parms = genl.attr(rtnl.TCA_PEPSPLIT_PARMS, struct.pack(
        "IIiii", 0, 0, rtnl.TC_ACT_UNSPEC, 0, 0))
    side = genl.attr(rtnl.TCA_PEPSPLIT_SIDE, struct.pack("I", 0))
    nested = rtnl.TCA_ACT_OPTIONS | rtnl.NLA_F_NESTED
    for attrs in (), (genl.attr(nested, side),), (genl.attr(nested, parms),):
        try:
            rtnl.action("pep", *attrs)
            found = 0
        except OSError as err:
            found = err.errno
        expect("error", found, errno.EINVAL)
    expect("actions", told("actions ls action pepsplit"), [])
    rtnl.action("pep", genl.attr(nested, parms + side))
    expect("actions", len(told("actions ls action pepsplit")), 1)
    tc("actions flush action pepsplit")


@case("what tc attached, pepadm shows; what is like its own, it changes",
      49153)
@case("so it does what is like those of before", 49152)
def of_tc(first):
    tc("qdisc add dev wl0 clsact")
    for family, preference in (4, first), (6, first + 1):
        tc(f"filter add dev wl0 ingress pref {preference} protocol "
           f"{PROTOCOLS[family]} matchall action pepsplit side server")
    shown = pepadm("dev", "show", "wl0").stdout
    expect("dev show", shown.split(" packets ")[0],
           "dev wl0 side server profile default")
    one, = json.loads(pepadm("-j", "dev", "show", "wl0").stdout)
    expect("preferences", [each["pref"] for each in one["filters"]],
           [first, first + 1])
    pepadm("dev", "set", "wl0", "profile", "gold")
    for act in told("filter show dev wl0 ingress"):
        expect("profile", act["profile"], "gold")
    pepadm("dev", "del", "wl0")
    expect("filters", tc("filter show dev wl0 ingress",
                         check=False).stdout, "")
    tc("qdisc add dev wl0 clsact")
    tc("filter add dev wl0 ingress matchall action pepsplit side wireless")
    expect("dev show", pepadm("dev", "show", "wl0").stdout.split(" packets ")
           [0], "dev wl0 side wireless profile default")
    expect("conf", [line for line in pepadm("conf", "save").stdout.split("\n")
                    if line.startswith("dev")], [])
