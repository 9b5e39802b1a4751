# SPDX-License-Identifier: GPL-2.0
"""pepadm's commands in the absence of errors, and its output as text and as
JSON.

In the namespace pep, besides the devices of the topology, which are not added:
d0 and d1, without a qdisc when a case begins.
"""

import itertools
import json
import os
import re
import struct
import tempfile

from peptest import genl, pep, settings
from peptest.ktap import (after_case, case, expect, expect_between,
                          expect_least, fail, families)
from peptest.netns import addr, delayed, ip, run, tc
from peptest.pep import pepadm, split_pair
from peptest.tcp import PORT, exchange_part

DEFAULT = {"name": "default", "cc_wireless": "pep_bbr", "cc_server": "cubic",
           "connect": "follow", "split": ["bytes", "loss"],
           "split_bytes": 12000, "mptcp": "bypass", "source": "client",
           "server_dev": "none", "mark": 0, "dscp": "copy",
           "keepalive_idle": 0, "keepalive_interval": 0, "keepalive_count": 0,
           "user_timeout": 0, "idle_timeout": 0, "release_idle": 120,
           "residence": 50, "initial_window": 0,
           "resume": "on", "resume_max": 2097152,
           "link_rate": "auto", "link_rtt": "auto",
           "wireless_sndbuf": "auto", "wireless_rcvbuf": "auto",
           "server_sndbuf": "auto", "server_rcvbuf": "auto",
           "wireless_max_rate": "unlimited", "server_max_rate": "unlimited",
           "control": "off", "control_by": "connection",
           "max_flows": "unlimited",
           "devices": 0, "flows": 0}


def setup():
    """A pair of connected devices."""
    pep.detached()
    ip("pep", "link add d0 type veth peer name d1")


@after_case
def no_devices():
    """Delete the devices that a failed case has left."""
    if pep.loaded():
        for dev in show("dev", "show"):
            pepadm("dev", "del", dev["dev"])


def show(*words):
    """The parsed JSON output."""
    return json.loads(pepadm("-j", *words).stdout)


def text(*words):
    """The lines of text output."""
    return pepadm(*words).stdout.splitlines()


def filters(dev, hook):
    """The preferences of the filters on a hook of a device."""
    out = run("tc", "-j", "filter", "show", "dev", dev, hook, ns="pep").stdout
    return sorted({(f["protocol"], f["pref"])
                   for f in json.loads(out or "[]")})


def qdisc(dev):
    """The qdisc for ingress filters of a device, None without one."""
    out = run("tc", "qdisc", "show", "dev", dev, ns="pep").stdout
    found = re.search(r"^qdisc (\w+) ffff:", out, re.MULTILINE)
    return found.group(1) if found else None


BUFFERS = ("wireless-sndbuf", "wireless-rcvbuf", "server-sndbuf",
           "server-rcvbuf")
# Values of each option that are given and shown alike: all words, and the ends
# of the range.
VALUES = {
    "connect": ("follow", "early"), "mptcp": ("split", "bypass"),
    "source": ("local", "client"), "server-dev": ("d0", "none"),
    "mark": (0xffffffff, 1, 0), "dscp": (63, 1, 0, "copy"),
    "keepalive-idle": (32767, 1, 0), "keepalive-interval": (32767, 1, 0),
    "keepalive-count": (127, 1, 0), "user-timeout": (2147483647, 1, 0),
    "idle-timeout": (604800, 1, 0), "release-idle": (604800, 1, 0, 120),
    "residence": (10000, 1, 0, 50), "initial-window": (1000, 1, 0),
    "resume": ("off", "on"), "resume-max": (1073741824, 16384, 2097152),
    "link-rtt": (60000, 1, "auto"), "control-by": ("subscriber",
                                                   "connection"),
    "max-flows": (16777216, 1, "unlimited"),
    **dict.fromkeys(BUFFERS, (536870912, 4096, "auto"))}
# As given, as shown, and in JSON, bytes per second.
RATES = (("20mbit", "20Mbit", 2500000), ("8000", "8Kbit", 1000),
         ("1tbit", "1Tbit", 125000000000), ("1.5MBit", "1500Kbit", 187500),
         ("1000bps", "8Kbit", 1000), ("1mibit", "1048576bit", 131072),
         ("2gibps", "17179869184bit", 2147483648),
         ("8001bit", "8Kbit", 1000), ("0", "unlimited", "unlimited"),
         ("5Mbps", "40Mbit", 5000000),
         ("unlimited", "unlimited", "unlimited"))
# As given, as shown, and in JSON, ten-thousandths.
SHARES = (("0.01%", "0.01%", 1), ("50%", "50%", 5000),
          ("12.5%", "12.5%", 1250), ("005.50%", "5.5%", 550),
          ("0%", "off", "off"), ("5.05%", "5.05%", 505),
          ("off", "off", "off"))
# As given, as shown, and in JSON.
SPLITS = (("never", "never", [], 12000), ("loss", "loss", ["loss"], 12000),
          ("handshake", "handshake", ["handshake"], 12000),
          ("1", "1", ["bytes"], 1), ("loss,16m", "16777216,loss",
                                     ["bytes", "loss"], 16777216),
          ("16777216", "16777216", ["bytes"], 16777216),
          ("10K,loss", "10240,loss", ["bytes", "loss"], 10240),
          ("12000,loss", "12000,loss", ["bytes", "loss"], 12000))
OURS = [("ip", 49153), ("ipv6", 49154)]


@case("profiles come, change and go")
def profiles():
    expect("profile show", show("profile", "show"), [DEFAULT])
    expect("keys in their order", list(show("profile", "show")[0]),
           list(DEFAULT))
    pepadm("profile", "add", "gold", "cc-wireless", "cubic", "connect",
           "early")
    gold = {**DEFAULT, "name": "gold", "cc_wireless": "cubic",
            "connect": "early"}
    expect("gold", show("profile", "show", "gold"), [gold])
    expect("gold as text", text("-sd", "profile", "show", "gold"),
           ["profile gold " +
            settings.line(cc_wireless="cubic", connect="early") +
            " devices 0 flows 0"])
    pepadm("profile", "add", "plain")
    expect("all", [p["name"] for p in show("profile")],
           ["default", "gold", "plain"])
    pepadm("profile", "set", "gold", "cc-server", "reno")
    gold["cc_server"] = "reno"
    expect("gold", show("profile", "show", "gold"), [gold])
    pepadm("profile", "del", "gold")
    pepadm("profile", "del", "plain")
    expect("profile show", show("profile", "show"), [DEFAULT])


@case("the settings of the source are those above")
def source():
    """Names, words, ranges and defaults, which the module, pepadm and other
    tests have from there."""
    numbers = {**VALUES,
               "link-rate": [number if number != "unlimited" else "auto"
                             for _, _, number in RATES],
               "control": [number for _, _, number in SHARES],
               "split-bytes": [number for _, _, _, number in SPLITS]}
    for rate in "wireless-max-rate", "server-max-rate":
        numbers[rate] = [number for _, _, number in RATES]
    names = {"cc-wireless", "cc-server", "split"}
    expect("names", {one.word for one in settings.SETTINGS},
           names | set(numbers))
    for one in settings.SETTINGS:
        if one.option:
            expect(f"default of {one.word}", one.usual,
                   "12000,loss" if one.word == "split" else
                   str(DEFAULT[one.key]))
        if one.word in names or one.kind == "name":
            continue
        words = {value for value in numbers[one.word]
                 if isinstance(value, str)}
        found = [value for value in numbers[one.word] if value not in words]
        expect(f"words of {one.word}", {*one.entries, *one.words.values()},
               words)
        if one.kind == "number":
            expect(f"range of {one.word}", (max(one.low, 1), one.high),
                   (min(filter(None, found)), max(found)))
            expect(f"{one.word} 0", one.fits(0) and 0 not in one.words,
                   0 in found)


@case("every setting of a profile, at both ends of its range")
def every():
    """The new value is shown, as text and as JSON, and nothing else
    changes."""
    pepadm("profile", "add", "gold", "connect", "early", "link-rate", "1mbit")
    gold = {**DEFAULT, "name": "gold", "connect": "early",
            "link_rate": 125000}
    for word, values in VALUES.items():
        for value in values:
            pepadm("profile", "set", "gold", word, str(value))
            gold[word.replace("-", "_")] = value
            expect(f"{word} {value}", show("profile", "show", "gold"), [gold])
            if f" {word} {value} " not in text("-sd", "profile", "show",
                                               "gold")[0]:
                fail(f"{word} {value} is not in the text")
    for word, (given, written, number) in itertools.product(
            ("link-rate", "wireless-max-rate", "server-max-rate"), RATES):
        if word == "link-rate":
            given, written, number = (
                "auto" if value == "unlimited" else value
                for value in (given, written, number))
        pepadm("profile", "set", "gold", word, given)
        gold[word.replace("-", "_")] = number
        expect(f"{word} {given}", show("profile", "show", "gold"), [gold])
        if f" {word} {written} " not in text("-sd", "profile", "show",
                                             "gold")[0]:
            fail(f"{word} {given} is not written as {written}")
    for given, written, number in SHARES:
        pepadm("profile", "set", "gold", "control", given)
        gold["control"] = number
        expect(f"control {given}", show("profile", "show", "gold"), [gold])
        if f" control {written} " not in text("-sd", "profile", "show",
                                              "gold")[0]:
            fail(f"control {given} is not written as {written}")
    for given, written, triggers, number in SPLITS:
        pepadm("profile", "set", "gold", "split", given)
        gold.update(split=triggers, split_bytes=number)
        expect(f"split {given}", show("profile", "show", "gold"), [gold])
        if f" split {written} " not in text("-sd", "profile", "show",
                                            "gold")[0]:
            fail(f"split {given} is not written as {written}")
    pepadm("profile", "set", "gold", "mark", "0x1f")
    expect("a hexadecimal mark", show("profile", "show", "gold")[0]["mark"],
           31)
    pepadm("profile", "del", "gold")


@case("triggers of a split that other programs set, with or without bytes")
def triggers():
    """The number of bytes stays as long as a trigger needs it, and then
    returns to the default."""
    family = genl.family_id("pep", "pep")
    commands = {name: key for key, name in genl.names("PEP_CMD_").items()}
    attrs = {name: key for key, name in genl.names("PEP_A_PROFILE_").items()}
    pepadm("profile", "add", "gold", "connect", "follow")
    for trigger, number, shown in (
            (None, 5000, (["bytes", "loss"], 5000)),
            (2, None, (["bytes"], 5000)), (4, None, (["loss"], 12000)),
            (6, None, (["bytes", "loss"], 12000)),
            (2, 7, (["bytes"], 7)), (1, None, (["handshake"], 12000)),
            (0, None, ([], 12000)), (2, None, (["bytes"], 12000))):
        given = genl.attr(attrs["name"], b"gold\0")
        for name, value in (("split_trigger", trigger),
                            ("split_bytes", number)):
            if value is not None:
                given += genl.attr(attrs[name], struct.pack("I", value))
        genl.request("pep", family, commands["profile_set"], given)
        gold, = show("profile", "show", "gold")
        expect(f"after {trigger} and {number}",
               (gold["split"], gold["split_bytes"]), shown)
    pepadm("profile", "del", "gold")


@case("a device is added, shown and deleted")
def device():
    """Two filters and the clsact qdisc, all deleted again."""
    pepadm("profile", "add", "gold")
    pepadm("dev", "add", "d0", "side", "server", "profile", "gold")
    expect("qdisc", qdisc("d0"), "clsact")
    expect("filters", filters("d0", "ingress"), OURS)
    expect("egress", filters("d0", "egress"), [])
    expect("dev show", text("dev", "show"),
           ["dev d0 side server profile gold packets 0 bytes 0"])
    expect("another device", text("dev", "show", "d1"), [])
    index = json.loads(run("ip", "-j", "link", "show", "d0",
                           ns="pep").stdout)[0]["ifindex"]
    found = show("dev", "show", "d0")
    expect("filters", [(each.pop("action") > 0, each)
                       for each in found[0].pop("filters")],
           [(True, {"protocol": protocol, "pref": pref, "packets": 0,
                    "bytes": 0}) for protocol, pref in OURS])
    expect("JSON", found,
           [{"dev": "d0", "ifindex": index, "side": "server",
             "profile": "gold", "packets": 0, "bytes": 0}])
    expect("devices", show("profile", "show", "gold")[0]["devices"], 2)
    pepadm("dev", "del", "d0")
    pepadm("profile", "del", "gold")
    expect("qdisc", qdisc("d0"), None)
    expect("dev show", show("dev", "show"), [])


@case("plain tc shows the filters")
def plain_tc():
    """A tc without support for the action treats it as gact, and shows it
    correctly."""
    pepadm("dev", "add", "d0", "side", "wireless")
    plain = "env", "TC_LIB_DIR=/nonexistent", "tc"
    out = run(*plain, "-s", "filter", "show", "dev", "d0", "ingress",
              ns="pep").stdout
    expect("verdicts", len(re.findall(r" action continue$", out,
                                      re.MULTILINE)), 2)
    expect("statistics", out.count("Sent 0 bytes 0 pkt"), 2)
    json.loads(run(*plain, "-j", "-s", "filter", "show", "dev", "d0",
                   "ingress", ns="pep").stdout)


@case("a foreign filter at ingress keeps clsact", "ingress")
@case("a foreign filter at egress keeps clsact", "egress")
def foreign(hook):
    """Qdisc and filter of others on the device stay."""
    tc("pep", "qdisc add dev d0 clsact",
       f"filter add dev d0 {hook} pref 7 protocol ip matchall classid 1:1")
    pepadm("dev", "add", "d0", "side", "wireless")
    pepadm("dev", "del", "d0")
    expect("qdisc", qdisc("d0"), "clsact")
    expect("filters", filters("d0", hook), [("ip", 7)])
    tc("pep", "qdisc del dev d0 clsact")


@case("filters that the kernel numbers come before")
def numbered():
    """The first one gets 49152, the next ones go down from there."""
    line = "filter add dev d0 ingress protocol ip matchall classid 1:1"
    tc("pep", "qdisc add dev d0 clsact", line)
    pepadm("dev", "add", "d0", "side", "wireless")
    tc("pep", line)
    expect("filters", filters("d0", "ingress"),
           [("ip", 49151), ("ip", 49152), *OURS])
    pepadm("dev", "del", "d0")
    expect("filters", filters("d0", "ingress"),
           [("ip", 49151), ("ip", 49152)])
    tc("pep", "qdisc del dev d0 clsact")
    pepadm("dev", "add", "d0", "side", "wireless")
    tc("pep", line)
    expect("filters", filters("d0", "ingress"), [("ip", 49152), *OURS])
    tc("pep", "qdisc del dev d0 clsact")


@case("an ingress qdisc serves as well and stays")
def ingress_qdisc():
    tc("pep", "qdisc add dev d0 ingress")
    pepadm("dev", "add", "d0", "side", "wireless")
    expect("filters", filters("d0", "ingress"), OURS)
    expect("dev show", [dev["dev"] for dev in show("dev", "show")], ["d0"])
    pepadm("dev", "del", "d0")
    expect("qdisc", qdisc("d0"), "ingress")
    tc("pep", "qdisc del dev d0 ingress")


@case("JSON of a device with an odd name")
def odd_name():
    """A device may have any name without a blank, slash and colon."""
    name = b'q"\\\001\377x'
    run(b"ip", b"link", b"add", name, b"type", b"veth", b"peer", b"name",
        b"d9", ns="pep")
    run(pep.env.PEPADM.encode(), b"dev", b"add", name, b"side", b"server",
        ns="pep")
    expect("name in JSON", [dev["dev"] for dev in show("dev", "show")],
           ['q"\\\x01\ufffdx'])
    run(pep.env.PEPADM.encode(), b"dev", b"del", name, ns="pep")
    ip("pep", "link del d9")


@case("counters as text and as JSON")
def counters():
    """Every counter is shown once, in both forms."""
    lines = text("stat", "show")
    for line in lines:
        if not re.fullmatch(r"[a-z][a-z0-9_]* [0-9]+", line):
            fail(f"a line of another form: {line}")
    names = [line.split()[0] for line in lines]
    expect("names", len(set(names)), len(names))
    expect("JSON keys", list(show("stat", "show")), names)
    expect("those of the UAPI header", sorted(names),
           sorted(set(pep.STATS.values()) - {"pad", "cpu"}))


def residence(found, samples):
    """Fail unless the samples of payload's residence are consistent."""
    expect_least("samples", found["samples"], samples)
    expect("sum of the buckets", sum(bucket["samples"]
                                     for bucket in found["buckets"]),
           found["samples"])
    if found["samples"]:
        ends = [bucket["below_us"] for bucket in found["buckets"]]
        expect("order of buckets", ends, sorted(set(ends)))
        expect("percentiles", ends[0] <= found["p50_us"] <= found["p99_us"]
               <= ends[-1], True)


@families("a flow as text and as JSON")
def flow(family):
    """All fields of an open flow."""
    pepadm("profile", "set", "default", "split", "handshake")
    pep.attach()
    with delayed():
        both = split_pair(family)
        exchange_part(both, 1000)
        pep.quiet()
    found, = show("flow", "show")
    sub, srv = addr("sub", family), addr("srv", family)
    port = both[0].getsockname()[1]
    for key, value in {
            "family": "inet" if family == 4 else "inet6",
            "subscriber": {"addr": sub, "port": port},
            "server": {"addr": srv, "port": PORT},
            "state": "established", "opener": "wireless",
            "profile": "default", "connect": "follow",
            "bytes_to_wireless": 1000, "bytes_to_server": 1000}.items():
        expect(key, found[key], value)
    expect_between("age", found["age_ms"], 0, 599999)
    expect_least("copied", found["bytes_copied"], 0)
    expect("legs", sorted(found["legs"]), ["server", "wireless"])
    for name, cc in ("wireless", "pep_bbr"), ("server", "cubic"):
        leg = found["legs"][name]
        expect(f"{name} cc", leg["cc"], cc)
        expect(f"{name} state", leg["state"], "ESTAB")
        for key in "min_rtt_us", "srtt_us":
            expect_between(key, leg[key], 1, 59999999)
        expect_least("cwnd", leg["cwnd"], 1)
        expect_between("mss", leg["mss"], 501, 65535)
        expect_least("bytes_received", leg["bytes_received"], 1000)
        expect_least("bytes_acked", leg["bytes_acked"], 1000)
        for key in "retrans", "unread", "unsent", "unacked":
            expect_least(key, leg[key], 0)
        residence(leg["residence"], 1)
        residence(show("stat", "residence")[name]["residence"], 1)
    lines = text("flow", "show")
    expect("lines of text", len(lines), 4)
    there = f"-> {srv}:{PORT} " if family == 4 else f"-> [{srv}]:{PORT} "
    if there + "established" not in lines[0]:
        fail(f"the first line: {lines[0]}")
    expect("by its number", show("flow", "show", str(found["id"]))[0]["id"],
           found["id"])
    expect("flows of the profile", show("profile", "show", "default")[0]
           ["flows"], 1)
    expect_least("packets of the device", show("dev", "show", "wl0")[0]
                 ["packets"], 1)
    for sock in both:
        sock.close()
    pep.flows_end()
    expect("flows", show("flow", "show"), [])
    pepadm("profile", "replace", "default")


@case("JSON for people")
def pretty():
    """The same values, each on a line of its own."""
    out = pepadm("-p", "--json", "profile", "show").stdout
    expect("profiles", json.loads(out), [DEFAULT])
    expect("lines", out.splitlines()[:3],
           ["[", "    {", '        "name": "default",'])
    expect("number of lines", len(out.splitlines()),
           len(DEFAULT) + 4 + len(DEFAULT["split"]) + 1)
    expect("nothing", pepadm("-jp", "dev", "show").stdout, "[]\n")


@case("another namespace")
def netns():
    """By its name, and by a file."""
    pepadm("profile", "add", "gold")
    mine = show("profile", "show")
    expect("here", [p["name"] for p in mine], ["default", "gold"])
    for name in "pep", "/run/netns/pep":
        for option in "-N", "--netns":
            there = pepadm("-j", option, name, "profile", "show", ns="sub")
            expect(name, json.loads(there.stdout), mine)
    expect("elsewhere", len(json.loads(pepadm("-j", "profile", "show",
                                              ns="sub").stdout)), 1)
    pepadm("-N", "pep", "profile", "del", "gold", ns="sub")
    expect("here again", show("profile", "show"), [DEFAULT])


@case("commands out of a file")
def batch():
    """Comments and empty lines; the first failing command is the last."""
    out = pepadm("-j", "-b", "-", stdin="# first\n\n"
                 "  profile add gold connect early # early\n"
                 "\tprofile set gold idle-timeout 60\n"
                 "profile show gold\nlimit").stdout.splitlines()
    expect("documents", len(out), 2)
    expect("profile", json.loads(out[0])[0]["idle_timeout"], 60)
    expect("limits", json.loads(out[1])["drain"], "off")
    with tempfile.NamedTemporaryFile("w", encoding="ascii") as file:
        file.write("profile del gold\nprofile del gold\nprofile add new\n")
        file.flush()
        done = pepadm("--batch", file.name, check=False)
        expect("exit code", done.returncode, 1)
        if not done.stderr.startswith(
                f"pepadm: {file.name}:2: profile del: "):
            fail(f"it said {done.stderr!r}")
    expect("profiles", show("profile", "show"), [DEFAULT])


@case("help, version and short forms")
def words():
    """Synonyms, and commands that work without the module."""
    for one, other in ((["dev"], ["dev", "show"]),
                       (["profile", "list"], ["profile", "show"]),
                       (["profile", "ls"], ["profile", "show"]),
                       (["--json", "profile"], ["-j", "profile"]),
                       (["help"], ["-h"])):
        expect(" ".join(one), text(*one), text(*other))
    expect("usage beyond 90 columns",
           [line for line in text("help") if len(line) > 90], [])
    if "pepadm dev add DEV side" not in pepadm("dev", "help").stdout:
        fail("dev help")
    for line in ("help dev", "dev add help", "dev show help"):
        expect(line, text(*line.split()), text("dev", "help"))
    for line in ("profile add help", "profile set help", "conf save help",
                 "conf load help", "flow kill help", "monitor closed help"):
        expect(line, text(*line.split()), text(line.split()[0], "help"))
    expect("profiles", show("profile", "show"), [DEFAULT])
    if os.path.exists("help"):
        fail("conf save has written to help")
    with open("/sys/module/pep/version", encoding="ascii") as file:
        version = file.read().strip()
    expect("-V", pepadm("-V").stdout,
           f"pepadm {version}, netlink family pep version 1, "
           f"module {version}\n")
