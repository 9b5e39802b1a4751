# SPDX-License-Identifier: GPL-2.0
"""bash completion for pepadm offers the words of pepadm's own help, and the
existing profiles, devices and flows."""

import glob
import os

from peptest import env, pep
from peptest.ktap import case, expect, fail
from peptest.netns import ip, run
from peptest.pep import pepadm, split_pair
from peptest.tcp import exchange_part

TRAITS = {"once", "programs"}

FILE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tools",
                    "completion", "pepadm")
SCRIPT = """
PATH=$1:$PATH
. "$2"
shift 2
COMP_WORDS=(pepadm "$@")
COMP_CWORD=$#
_pepadm_complete
printf '%s\\n' "${COMPREPLY[@]}"
"""


def offered(line, ns="pep"):
    """The words offered for the last word of a line, without duplicates."""
    out = run("bash", "-c", SCRIPT, "bash", os.path.dirname(env.PEPADM), FILE,
              *line.split(" "), ns=ns).stdout
    words = sorted(out.split())
    expect(f"words for {line!r}, each once", words, sorted(set(words)))
    return words


def setup():
    """Attached, with two profiles and another device."""
    pep.attached()
    pepadm("profile", "add", "gold")
    pepadm("profile", "add", "grey")
    ip("pep", "link add d0 type veth peer name d1")


@case("objects and commands")
def commands():
    expect("objects", offered(""),
           ["conf", "conn", "dev", "drain", "flow", "help", "limit",
            "monitor", "path", "profile", "stat"])
    expect("d", offered("d"), ["dev", "drain"])
    expect("dev", offered("dev "), ["add", "del", "help", "set", "show"])
    expect("conf", offered("conf "),
           ["check", "help", "load", "save", "show", "sync"])
    expect("conf load", offered("conf load w"), ["wait"])
    expect("conf load FILE", offered("conf load file "), ["wait"])
    expect("conf load wait", offered("conf load wait "), offered("conf show "))
    expect("conf show", offered("conf show "), [])
    expect("conf check", offered("conf check /etc/host"),
           sorted(glob.glob("/etc/host*")))
    expect("help", offered("help d"), ["dev", "drain"])
    expect("help", offered("help dev "), [])
    expect("drain", offered("drain o"), ["off", "on"])
    expect("stat", offered("stat "), ["gain", "help", "residence", "show"])
    expect("stat show", offered("stat show "), ["--prometheus", "percpu"])
    expect("stat gain", offered("stat gain "), ["profile"])
    expect("stat gain profile", offered("stat gain profile g"),
           ["gold", "grey"])
    expect("stat gain profile gold", offered("stat gain profile gold "), [])
    expect("monitor", offered("monitor "),
           ["all", "closed", "conns", "help", "limits", "new"])
    expect("behind options", offered("-j -p prof"), ["profile"])
    expect("options", offered("--"), sorted(
        ["--json", "--pretty", "--statistics", "--details", "--netns",
         "--batch", "--version", "--help"]))


@case("words and values of commands")
def values():
    expect("dev add", offered("dev add d"), ["d0", "d1"])
    expect("dev add d0", offered("dev add d0 "), ["profile", "side"])
    expect("side", offered("dev add d0 side "), ["server", "wireless"])
    options = offered("profile set gold ")
    for word in "cc-wireless", "residence", "server-dev", "user-timeout":
        if word not in options:
            fail(f"{word} is not in {options}")
    expect("a value", offered("profile set gold connect "),
           ["early", "follow"])
    expect("control", offered("profile set gold control"),
           ["control", "control-by"])
    expect("a share", offered("profile set gold control "), ["off"])
    expect("by", offered("profile set gold control-by "),
           ["connection", "subscriber"])
    expect("triggers", offered("profile set gold split "),
           ["handshake", "loss", "never"])
    expect("after a value that is an option, too",
           offered("profile set gold mptcp split mar"), ["mark"])
    expect("after a pair", offered("profile set gold mark 1 conn"),
           ["connect"])
    expect("live, with nothing", "live" in options, False)
    expect("live, with something", offered("profile set gold mark 1 liv"),
           ["live"])
    expect("live of a new one", offered("profile add new liv"), [])
    expect("live of a new one", offered("profile replace new mark 1 liv"), [])
    expect("congestion control", offered("profile set gold cc-server cu"),
           ["cubic"])


@case("what there is: profiles, devices, flows, namespaces")
def there():
    expect("profiles", offered("profile set g"), ["gold", "grey"])
    expect("profile of a device", offered("dev set wl0 profile "),
           ["default", "gold", "grey"])
    expect("devices", offered("dev del "), ["sv0", "wl0"])
    expect("another namespace", offered("-N pep dev del ", ns=None),
           ["sv0", "wl0"])
    for words in "--netns = pep", "--netns pep", "--netns=pep":
        expect(words, offered(f"{words} dev del ", ns=None), ["sv0", "wl0"])
    expect("a batch", offered("--batch = /dev/null "), offered(""))
    expect("namespaces", offered("-N s", ns=None), ["srv", "sub"])
    expect("namespaces", offered("--netns = s", ns=None), ["srv", "sub"])
    expect("all namespaces", "pep" in offered("--netns =", ns=None), True)
    both = split_pair(4)
    exchange_part(both, 10)
    numbers = [str(flow["id"]) for flow in pep.flows()]
    expect("flows", [word for word in offered("flow show ")
                     if word.isdigit()], numbers)
    expect("flows by device", offered("flow kill dev "), ["sv0", "wl0"])
    expect("words of connections", offered("conn show dev wl0 s"),
           ["server", "server-port", "stage", "subscriber",
            "subscriber-port"])
    expect("stages", offered("conn show stage s"), ["split"])
    expect("openers", offered("conn show opener "), ["server", "wireless"])
    expect("words of paths", offered("path flush "), ["all", "subscriber"])
    expect("words of top", offered("flow top b"), ["bytes"])
    expect("times", [word for word in offered("flow top ")
                     if word in ("all", "count", "delay")],
           ["all", "count", "delay"])
    expect("times", [word for word in offered("flow top delay 2 ")
                     if word in ("all", "count", "delay")], ["all", "count"])
    expect("times", offered("flow top delay 2 bytes 5 a"), [])
    expect("times", offered("flow top delay 2 bytes 5 d"), ["dev"])
    run("ip", "link", "add", "$(echo${IFS}o)", "type", "dummy", ns="pep")
    expect("a name that is a command", offered("dev add $"),
           ["$(echo${IFS}o)"])
    run("ip", "link", "del", "$(echo${IFS}o)", ns="pep")
    expect("words of flows", offered("flow kill dev wl0 s"),
           ["server", "server-port", "state", "subscriber",
            "subscriber-port"])
