# SPDX-License-Identifier: GPL-2.0
"""pepadm refuses wrong input: one line on standard error that names the
argument, nothing on standard output, exit code 2 when the command line is
wrong and 1 when the kernel refuses, and no change.

In the namespace pep, besides the devices of the topology:
  d0  added, side wireless, profile gold
  d1  not added, no clsact
  d2  not added; clsact with a foreign filter at the preference of IPv6's
"""

import errno
import fnmatch
import itertools
import struct
import time

from peptest import env, genl, pep, service, settings
from peptest.ktap import case, expect, fail
from peptest.netns import Within, ip, run, tc
from peptest.pep import pepadm

TRAITS = {"once"}

LONG = "abcdefghijklmnop"       # 16 characters
SOON = 5                # seconds
_before = []


def state():
    """All state that pepadm can change."""
    return (pepadm("-sd", "profile", "show").stdout +
            pepadm("limit", "show").stdout +
            run("tc", "-n", "pep", "-batch", "-",
                stdin="qdisc show\nfilter show dev d0 ingress\n"
                "filter show dev d1 ingress\n"
                "filter show dev d2 ingress\n").stdout)


def settled():
    """The state, soon: the kernel frees a filter that is gone, and with it the
    profile's device, some time later."""
    end = time.monotonic() + SOON
    while (now := state()) != _before[0] and time.monotonic() < end:
        time.sleep(0.1)
    return now


def setup():
    """The devices above."""
    pep.detached()
    ip("pep", "link add d0 type veth peer name d1",
       "link add d2 type veth peer name d3")
    pepadm("profile", "add", "gold", "cc-wireless", "cubic")
    pepadm("dev", "add", "d0", "side", "wireless", "profile", "gold")
    tc("pep", "qdisc add dev d2 clsact",
       "filter add dev d2 ingress pref 49154 protocol ipv6 matchall "
       "classid 1:1")
    _before.append(state())


def refused(code, message, words):
    """Fail unless pepadm refuses; the message is a shell pattern in which [ is
    literal."""
    said = f"pepadm {' '.join(words)[:200]}: "
    done = pepadm(*words, check=False)
    expect(said + "exit code", done.returncode, code)
    expect(said + "lines on standard error", done.stderr.count("\n"), 1)
    if not fnmatch.fnmatchcase(done.stderr.rstrip("\n"),
                               message.replace("[", "[[]")):
        fail(said + f"it said {done.stderr!r}, not {message!r}")
    expect(said + "standard output", done.stdout, "")


def wrong(*cases):
    """Wrong command lines, refused without a request to the kernel."""
    for message, words in cases:
        refused(2, "pepadm: " + message, words)
    expect("state", state(), _before[0])


def split(text):
    """Words of a command line."""
    return text.split()


@case("wrong objects, commands and options")
def frame():
    objects = ("dev, profile, flow, conn, path, stat, limit, drain, conf, "
               "monitor, help")
    wrong((f"OBJECT: missing, one of: {objects}", []),
          *((f'OBJECT: "{word}" is not one of: {objects}', [word])
            for word in ("foo", "bypass")),
          ("option -x is not one of: -j, -p, -s, -d, -N, -b, -V, -h",
           split("-x dev show")),
          ("option --jsn is not one of: --json, --pretty, --statistics, "
           "--details, --netns, --batch, --version, --help", ["--jsn"]),
          ("option -N: value missing", ["-N"]),
          ("option -b: value missing", ["--batch"]),
          ("NETNS: empty or longer than 255 characters",
           ["-N", "", "dev"]),
          ('"dev": unexpected word beside a batch', split("-b /dev/null dev")),
          ("option --json=1: takes no value", split("--json=1 dev show")),
          ("option --details=1: takes no value", split("--details=1 dev")),
          ('dev: "foo" is not one of: add, set, del, show, help',
           split("dev foo")),
          ('profile: "foo" is not one of: add, set, replace, del, show, help',
           split("profile foo")),
          ('flow: "del" is not one of: show, kill, release, save, restore, '
           "top, help",
           split("flow del 1")),
          ('stat: "foo" is not one of: show, residence, gain, help',
           split("stat foo")))


@case("files and namespaces that are not there")
def absent():
    """pepadm prints the kernel's error."""
    for message, words in (
            ('netns "nope": No such file or directory', "-N nope dev"),
            ('netns "/dev/null": Invalid argument', "-N /dev/null dev"),
            ("/dev/nope: No such file or directory", "-b /dev/nope"),
            ("/run: Is a directory", "-b /run")):
        refused(1, "pepadm: " + message, split(words))
    expect("state", state(), _before[0])


@case("wrong words after dev")
def dev():
    wrong(("dev add: DEV: missing", split("dev add")),
          (f'dev add: DEV: "{LONG}" is longer than 15 characters',
           split(f"dev add {LONG} side server")),
          ("dev add: DEV: empty, *", ["dev", "add", "", "side", "server"]),
          ('dev add: DEV: "#d1" starts with #, as comments in files do',
           split("dev add #d1 side server")),
          ("dev add: side: missing", split("dev add d1")),
          ("dev add: side: missing", split("dev add d1 profile gold")),
          ("dev add: side: value missing, one of: wireless, server",
           split("dev add d1 side")),
          ('dev add: side: "east" is not one of: wireless, server',
           split("dev add d1 side east")),
          ("dev add: side: given twice",
           split("dev add d1 side server side server")),
          ('dev add: "foo" is not one of: side, profile',
           split("dev add d1 side server foo")),
          ("dev add: profile: value missing",
           split("dev add d1 side server profile")),
          ('dev add: profile: "a/b" has other characters than *',
           split("dev add d1 side server profile a/b")),
          (f'dev add: profile: "{LONG}" is longer than 15 characters',
           split(f"dev add d1 side server profile {LONG}")),
          ("dev del: DEV: missing", split("dev del")),
          ('dev del: "now": unexpected word', split("dev del d0 now")),
          ('dev show: "now": unexpected word', split("dev show d0 now")))


@case("wrong words after profile")
def profile():
    wrong(("profile add: NAME: missing", split("profile add")),
          (f'profile add: NAME: "{LONG}" is longer than 15 characters',
           split(f"profile add {LONG}")),
          ("profile add: NAME: empty, *", ["profile", "add", ""]),
          ('profile add: NAME: "a b" has other characters than *',
           ["profile", "add", "a b"]),
          ('profile add: NAME: "a"b" has other characters than *',
           split('profile add a"b')),
          ('profile add: NAME: "-a" starts with a hyphen',
           split("profile add -a")),
          ('profile add: "cc" is not one of: ' +
           ", ".join(one.word for one in settings.OPTIONS),
           split("profile add new cc bbr")),
          ("profile add: cc-server: value missing",
           split("profile add new cc-server")),
          (f'profile add: cc-server: "{LONG}" is longer than 15 characters',
           split(f"profile add new cc-server {LONG}")),
          ("profile add: cc-wireless: given twice",
           split("profile add new cc-wireless bbr cc-wireless bbr")),
          ('profile add: connect: "late" is not one of: follow, early',
           split("profile add new connect late")),
          ('profile add: connect: "truthful" has gone, use follow',
           split("profile add new connect truthful")),
          ('profile set: connect: "truthful" has gone, use follow',
           split("profile set gold connect truthful")),
          ("profile add: split: value missing",
           split("profile add new split")),
          *((f'profile add: split: "{word}" is not one of: never, '
             'handshake, loss, a number from 1 to 16777216',
             ["profile", "add", "new", "split", text])
            for text, word in (
                ("", ""), (",", ""), ("loss,", ""), (",loss", ""),
                ("early", "early"), ("bytes", "bytes"), ("loss,x", "x"),
                ("0", "0"), ("0k", "0k"), ("16777217", "16777217"),
                ("17m", "17m"), ("16385k,loss", "16385k"), ("1g", "1g"),
                ("1kb", "1kb"), ("-1", "-1"), ("+1", "+1"), ("1.5k", "1.5k"),
                ("0x10", "0x10"), ("k", "k"), ("Loss", "Loss"),
                ("loss 1", "loss 1"), ("9" * 70, "9" * 64))),
          *(("profile add: split: never goes with no other trigger",
             split(f"profile add new split {text}"))
            for text in ("never,loss", "12000,never", "never,never")),
          *(("profile add: split: handshake, which comes first, goes with no "
             "other trigger", split(f"profile add new split {text}"))
            for text in ("handshake,loss", "12000,handshake",
                         "loss,handshake,1k")),
          ('profile add: split: "20000" is a second number of bytes',
           split("profile add new split 12000,20000")),
          ('profile add: split: "loss" is a second loss',
           split("profile add new split loss,1,loss")),
          ('profile add: mptcp: "no" is not one of: bypass, split',
           split("profile add new mptcp no")),
          ('profile add: source: "" is not one of: client, local',
           ["profile", "add", "new", "source", ""]),
          (f'profile add: server-dev: "{LONG}" is longer than 15 characters',
           split(f"profile add new server-dev {LONG}")),
          ('profile add: server-dev: "#d1" starts with #, *',
           split("profile add new server-dev #d1")),
          ("profile add: server-dev: empty, *",
           ["profile", "add", "new", "server-dev", ""]),
          ('profile add: mark: "x" is not a number from 0 to 4294967295',
           split("profile add new mark x")),
          ('profile add: mark: "4294967296" is not a number *',
           split("profile add new mark 4294967296")),
          ('profile add: mark: "-1" is not a number *',
           split("profile add new mark -1")),
          ('profile add: mark: "0x" is not a number *',
           split("profile add new mark 0x")),
          ("profile add: mark: value missing, a number from 0 to 4294967295",
           split("profile add new mark")),
          ('profile add: dscp: "ef" is not one of: copy, a number '
           'from 0 to 63',
           split("profile add new dscp ef")),
          ('profile add: server-rcvbuf: "4k" is not one of: auto, a number '
           'from 4096 to 536870912',
           split("profile add new server-rcvbuf 4k")),
          *((f'profile add: server-max-rate: "{text}" is not one of: '
             'unlimited, a rate from 8Kbit to 1Tbit',
             ["profile", "add", "new", "server-max-rate", text])
            for text in ("", "fast", "mbit", "-1mbit", "+1mbit", " 1mbit",
                         "1 mbit", "20m", "20mb", "20mbits", "20mbit/s",
                         "0x10mbit", "1e", "1.5.2mbit", "inf", "nan", "kbit",
                         "1pbit", "20ibit", "9" * 60)),
          ('profile add: idle-timeout: "1.5" is not a number from 0 to 604800',
           split("profile add new idle-timeout 1.5")),
          ("profile set: nothing to set, see: pepadm profile help",
           split("profile set gold")),
          ("profile set: connect: value missing, one of: follow, early",
           split("profile set gold connect")),
          ("profile del: NAME: missing", split("profile del")),
          ('profile del: "gold": unexpected word',
           split("profile del default gold")),
          ('profile show: "gold": unexpected word',
           split("profile show default gold")))


@case("wrong words after flow and stat")
def show():
    wrong(("stat show: --prometheus: not with -j",
           split("-j stat show --prometheus")),
          ('stat show: "now": unexpected word',
           split("stat show --prometheus now")),
          ('flow show: ID: "0" is not a number from 1 to 4294967295',
           split("flow show 0")),
          ('flow show: "-1" is not one of: subscriber, *',
           split("flow show -1")),
          ('flow show: ID: "1x" is not a number *', split("flow show 1x")),
          ('flow show: ID: "4294967296" is not a number *',
           split("flow show 4294967296")),
          ('flow show: "2": unexpected word', split("flow show 1 2")),
          ('stat show: "flows": unexpected word', split("stat show flows")),
          ('stat show: "0": unexpected word', split("stat show percpu 0")),
          ('stat show: "--prometheus": unexpected word',
           split("stat show percpu --prometheus")),
          ('stat show: "percpu": unexpected word',
           split("stat show --prometheus percpu")),
          ('stat residence: "x": unexpected word', split("stat residence x")))


@case("wrong words after limit, drain, conf and help")
def limits():
    wrong(('limit: "foo" is not one of: set, show, help', split("limit foo")),
          ("limit set: nothing to set, one of: flows, pending, connections, "
           "prefix4, prefix6, subscriber-connections, subscriber-flows, "
           "subscriber-rate, subscriber-memory",
           split("limit set")),
          ('limit set: flows: value missing, a number from 1 to 16777216',
           split("limit set flows")),
          ('limit set: flows: "x" is not a number from 1 to 16777216',
           split("limit set flows x")),
          ('limit set: flows: "0" is not a number from 1 to 16777216',
           split("limit set flows 0")),
          ('limit set: pending: "1048577" is not a number from 1 to 1048576',
           split("limit set flows 5 pending 1048577")),
          ('limit set: connections: "2147483648" is not a number from 1 to '
           '2147483647', split("limit set connections 2147483648")),
          ('limit set: prefix4: "7" is not a number from 8 to 32',
           split("limit set prefix4 7")),
          ('limit set: prefix4: "33" is not a number from 8 to 32',
           split("limit set prefix6 48 prefix4 33")),
          ('limit set: prefix6: "15" is not a number from 16 to 128',
           split("limit set prefix6 15")),
          ('limit set: prefix6: "129" is not a number from 16 to 128',
           split("limit set prefix4 24 prefix6 129")),
          ('limit set: "drain" is not one of: flows, pending, connections, '
           'prefix4, prefix6, subscriber-connections, subscriber-flows, '
           'subscriber-rate, subscriber-memory',
           split("limit set drain 1")),
          ('limit set: subscriber-rate: "0" is not a number from 1 to 1000000',
           split("limit set subscriber-rate 0")),
          ('limit set: subscriber-memory: "65535" is not a number from 65536 '
           'to 4294967295', split("limit set subscriber-memory 65535")),
          ('limit set: subscriber-flows: "0" is not a number from 1 to '
           '16777216', split("limit set subscriber-flows 0")),
          ('limit set: subscriber-connections: "16777217" is not a number '
           'from 1 to 16777216',
           split("limit set flows 5 subscriber-connections 16777217")),
          ('limit show: "now": unexpected word', split("limit show now")),
          ('limit show: top: "0" is not a number from 1 to 1000',
           split("limit show top 0")),
          ('limit show: top: "x" is not a number from 1 to 1000',
           split("limit show top x")),
          ('limit show: "now" is not one of: top',
           split("limit show top 5 now")),
          ('drain: "now" is not one of: on, off, release, show, help',
           split("drain now")),
          ('drain on: "now": unexpected word', split("drain on now")),
          ("conf sync: wait: missing", split("conf sync wait")),
          ('conf load: wait: "x" is not a number from 1 to 4294967295',
           split("conf load wait x")),
          ('OBJECT: "foo" is not one of: dev, profile, flow, conn, path, '
           "stat, limit, drain, conf, monitor, help", split("help foo")))


@case("a newline in an argument")
def newline():
    """Text of several lines is printed as one."""
    wrong(('profile add: NAME: "a?b" has other characters *',
           ["profile", "add", "a\nb"]))
    odd = service.write("a\nb\033[1mc", "# A comment.\ndev add\n")
    shown = service.path("a?b?[1mc")
    for words, message in ((["-b", odd], "dev add: DEV: missing"),
                           (["conf", "check", odd],
                            "conf check: side: missing")):
        expect("message", pepadm(*words, check=False).stderr,
               f"pepadm: {shown}:2: {message}\n")
    service.services_down()


@case("an argument of 100000 characters")
def endless():
    """A word of any length leaves the allowed values in the message."""
    wrong(('dev add: side: "000*" is not one of: wireless, server',
           ["dev", "add", "d1", "side", "0" * 100000]))


@case("the kernel refuses: dev")
def kernel_dev():
    impossible(
        ('dev add: Cannot find device "nosuch"', "dev add nosuch side server"),
        ('dev add: Cannot find device "d1:0"', "dev add d1:0 side server"),
        ('dev del: Cannot find device "nosuch"', "dev del nosuch"),
        ('dev show: Cannot find device "nosuch"', "dev show nosuch"),
        ("dev add: d0 already has pep filters", "dev add d0 side wireless"),
        ("dev add: profile: *", "dev add d1 side server profile nosuch"),
        ("dev add: *", "dev add d2 side server"),
        ("dev del: d1 has no pep filters", "dev del d1"),
        ("dev del: d2 has no pep filters", "dev del d2"))


@case("the kernel refuses: profile and flow")
def kernel_profile():
    impossible(
        ("profile add: name: *", "profile add gold"),
        ("profile add: cc-wireless: *", "profile add new cc-wireless nosuch"),
        ("profile set: cc-server: *", "profile set gold connect early "
         "cc-wireless reno cc-server nosuch"),
        ("profile set: name: *", "profile set nosuch connect early"),
        ("profile del: name: *", "profile del nosuch"),
        ("profile del: name: *", "profile del default"),
        ("profile del: name: *", "profile del gold"),
        ("profile show: name: *", "profile show nosuch"),
        ("flow show: id: *", "flow show 4294967295"))


@case("the kernel refuses: settings of a profile")
def kernel_settings():
    """Errors that pepadm cannot detect."""
    impossible(
        ("profile set: split: cannot be changed of live flows",
         "profile set gold split loss live"),
        ('profile set: server-dev: no device "nosuch" here',
         "profile set gold server-dev nosuch"),
        ("profile set: source: local needs connect early, *",
         "profile set gold source local"),
        ("profile add: source: local needs connect early, *",
         "profile add new source local connect follow"))


@case("settings of a profile that are out of range")
def ranges():
    """The message gives the name and range of each."""
    odd = {"resume": ("1",), "control-by": ("port", "2"),
           "control": ("5", "0.001%", "5.%", ".5%", "-1%", "1000%", "5%%")}
    cases = []
    for one in settings.OPTIONS:
        values = [*odd.get(one.word, ())]
        if one.kind == "number":
            values += [f"{number}bps" if one.is_rate else one.digits(number)
                       for number in {*one.beyond(), one.most + 1}]
        if one.is_rate:
            values += ["1", "7995bit", "1001gbit", "100000tbit"]
        if one.kind == "enum":
            values.append("maybe")
        cases += ((f'profile set: {one.word}: "{value}" is not {one.valid}',
                   split(f"profile set gold {one.word} {value}"))
                  for value in values)
    wrong(*cases)
    shown = {one.word: one.valid for one in settings.OPTIONS}
    for word, valid in (
            ("dscp", "one of: copy, a number from 0 to 63"),
            ("keepalive-idle", "a number from 0 to 32767"),
            ("resume", "one of: off, on"),
            ("resume-max", "a number from 16384 to 1073741824"),
            ("link-rate", "one of: auto, a rate from 8Kbit to 1Tbit"),
            ("server-rcvbuf", "one of: auto, a number from 4096 to "
             "536870912"),
            ("control", "one of: off, a share from 0.01% to 50%")):
        expect(f"what is valid for {word}", shown[word], valid)


@case("the kernel refuses: settings that other programs ask for")
def kernel_ranges():
    """The message gives the name and range of each, too."""
    family = genl.family_id("pep", "pep")
    commands = {name: key for key, name in genl.names("PEP_CMD_").items()}
    attrs = {name: key for key, name in genl.names("PEP_A_PROFILE_").items()}
    numbers = [one for one in settings.SETTINGS if one.kind == "number"]
    shown = {one.word: one.range for one in numbers}
    for word, valid in (
            ("dscp", "0 to 63, or 64 for copy"),
            ("keepalive-idle", "1 to 32767 seconds, or 0"),
            ("keepalive-count", "1 to 127 probes, or 0"),
            ("user-timeout", "1 to 2147483647 milliseconds, or 0"),
            ("initial-window", "1 to 1000 segments, or 0"),
            ("resume-max", "16384 to 1073741824 bytes"),
            ("link-rate", "8kbit to 1tbit, or 0"),
            ("server-rcvbuf", "4096 to 536870912 bytes, or 0"),
            ("split-bytes", "1 to 16777216 bytes"),
            ("control", "1 to 5000 ten-thousandths, or 0"),
            ("max-flows", "1 to 16777216, or 0")):
        expect(f"what is valid for {word}", shown[word], valid)
    for one in numbers:
        for value in one.beyond():
            number = struct.pack("I" if value >> 32 == 0 else "Q", value)
            try:
                genl.request("pep", family, commands["profile_set"],
                             genl.attr(attrs["name"], b"gold\0") +
                             genl.attr(attrs[one.name.replace("-", "_")],
                                       number))
                fail(f"{one.word} {value} is not refused")
            except OSError as err:
                expect(f"{one.word} {value}", (err.errno, err.strerror),
                       (errno.ERANGE, f"pep: {one.word}: {one.range}"))
    expect("state", state(), _before[0])


@case("the kernel refuses: a mode that a setting does not allow")
def kernel_mode():
    """The setting is older than the requested mode."""
    pepadm("profile", "set", "gold", "connect", "early", "source", "local")
    done = pepadm("profile", "set", "gold", "connect", "follow", check=False)
    pepadm("profile", "set", "gold", "source", "client", "connect", "follow")
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr, "pepadm: profile set: connect: source "
           "local needs connect early\n")
    expect("state", state(), _before[0])


@case("the kernel refuses: triggers of a split")
def kernel_split():
    """Undefined flags, or flags that exclude each other; bytes without the
    trigger that needs them."""
    family = genl.family_id("pep", "pep")
    commands = {name: key for key, name in genl.names("PEP_CMD_").items()}
    attrs = {name: key for key, name in genl.names("PEP_A_PROFILE_").items()}
    name = genl.attr(attrs["name"], b"gold\0")
    alone = ("split: handshake, which comes first, goes with no other "
             "trigger")
    unused = "split-bytes: needs the trigger bytes"
    for trigger, number, offset, text in (
            (3, None, 0, alone), (5, 12000, 0, alone), (7, None, 0, alone),
            (0, 1, 8, unused), (1, 1, 8, unused), (4, 12000, 8, unused),
            (8, None, 0, "reserved bit set"),
            (0x80000002, 1, 0, "reserved bit set")):
        given = genl.attr(attrs["split_trigger"], struct.pack("I", trigger))
        if number is not None:
            given += genl.attr(attrs["split_bytes"],
                               struct.pack("I", number))
        for command in "profile_set", "profile_replace":
            what = f"{command} with {trigger} and {number}"
            try:
                genl.request("pep", family, commands[command], name + given)
                fail(f"{what} is not refused")
            except genl.Refused as err:
                expect(what, (err.errno, err.strerror, err.offset),
                       (errno.EINVAL, text, 20 + len(name) + offset))
    expect("state", state(), _before[0])


@case("the kernel refuses: an attribute that it does not know")
def kernel_unknown():
    """The first attribute after those that a command accepts, None for all,
    and the first after all defined ones, as from a program with a newer
    header; the error gives the offset of that attribute."""
    family = genl.family_id("pep", "pep")
    commands = {name: key for key, name in genl.names("PEP_CMD_").items()}
    for names, group, takes, dump in (
            ("profile_get profile_del", "profile", "name", False),
            ("profile_add profile_replace", "profile", "max_flows", False),
            ("profile_set profile_add profile_replace", "profile", None,
             False),
            ("flow_get", "flow", "id", False),
            ("flow_get", "flow", "bytes_min", True),
            ("flow_kill", "flow", "bytes_min", False),
            ("limit_set", "limit", "drain", False),
            ("limit_replace", "limit", "pending", False)):
        known = {name: key for key, name in
                 genl.names(f"PEP_A_{group.upper()}_").items()}
        first = (genl.attr(known["name"], b"gold\0") if group == "profile"
                 else b"")
        last = max(known.values())
        for kind, name in itertools.product(
                {known.get(takes, last) + 1, last + 1}, split(names)):
            what = f"{name} with attribute {kind}"
            try:
                genl.request("pep", family, commands[name],
                             first + genl.attr(kind, struct.pack("I", 1)),
                             dump)
                fail(f"{what} is not refused")
            except genl.Refused as err:
                expect(what, (err.errno, err.offset),
                       (errno.EINVAL, 20 + len(first)))
    expect("state", state(), _before[0])


def impossible(*cases):
    """Commands that the kernel refuses; nothing changes after any of them."""
    for message, words in cases:
        refused(1, "pepadm: " + message, split(words))
        expect(f"state after pepadm {words}", settled(), _before[0])


@case("an unprivileged user", {},
      "setpriv", "--reuid", "65534", "--clear-groups")
@case("root of a user namespace with its own network",
      {"dev add": "needs CAP_NET_ADMIN in the first user namespace",
       "dev del": "d0 has no pep filters"},
      "unshare", "--user", "--map-root-user", "--net", "sh", "-ec",
      "ip link add d0 type veth peer d1; exec \"$@\"", "sh")
def strangers(own, *how):
    """Only the administrator may change or see other users' traffic; even
    filters on a user's own device need the privilege."""
    for words in ("dev add d1 side server", "dev del d0", "profile add new",
                  "profile set gold connect early", "profile del gold",
                  "flow show", "flow release all", "limit set flows 5",
                  "drain on"):
        done = run(*how, env.PEPADM, *split(words), ns="pep", check=False)
        expect(f"exit code of {words}", done.returncode, 1)
        verb = " ".join(split(words)[:2])
        why = own.get(verb, "Operation not permitted")
        expect("message", done.stderr, f"pepadm: {verb}: {why}\n")
    expect("state", state(), _before[0])


@case("a full disk")
def full():
    """pepadm reports a failed write."""
    with Within("pep"):
        done = run("sh", "-c", f"{pep.env.PEPADM} -j profile show > /dev/full",
                   check=False)
    expect("exit code", done.returncode, 1)
    expect("message", done.stderr, "pepadm: profile show: standard output: "
           "No space left on device\n")


@case("a module of another version")
def versions():
    """pepadm prints both versions when something fails, and with -V; not
    otherwise."""
    with open("/sys/module/pep/version", encoding="ascii") as file:
        mine = file.read().strip()
    service.write("version", "0.0.1\n")
    script = ("mount --bind \"$1\" /sys/module/pep/version && shift && "
              "exec \"$@\"")

    def other(*words):
        return run("unshare", "--mount", "sh", "-c", script, "sh",
                   service.path("version"), env.PEPADM, *words, ns="pep",
                   check=False)

    bad = other("profile", "show", "nobody")
    expect("exit code", bad.returncode, 1)
    expect("message", bad.stderr.rstrip().endswith(
        f"; pepadm has version {mine}, the module 0.0.1"), True)
    expect("lines", bad.stderr.count("\n"), 1)
    expect("-V", other("-V").stdout.rstrip().endswith(", module 0.0.1"), True)
    expect("no failure", other("profile", "show", "gold").stderr, "")
    expect("the same version", "version" in
           pepadm("profile", "show", "nobody", check=False).stderr, False)
    service.services_down()
