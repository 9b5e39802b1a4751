# SPDX-License-Identifier: GPL-2.0
"""The examples of the manual pages: each command is carried out, prints the
lines that the page shows, and each file is a right configuration."""

import itertools
import json
import os
import re

from peptest import env, pep, service
from peptest.ktap import case, expect, expect_least, fail
from peptest.netns import ip, run
from peptest.pep import pepadm, split_pair
from peptest.tcp import exchange, exchange_part

TRAITS = {"once", "programs"}

HEADING = "EXAMPLES TO BEGIN WITH"
# Commands of the machine that the guest is not, and a filter of their output.
ELSEWHERE = "modprobe", "ss", "systemctl", "vi"
JQ = re.compile(r" \| jq .*")
# Commands that go on until they are interrupted.
ENDLESS = re.compile(r"pepadm .*\bmonitor\b")
ENDED = 124             # exit code of timeout
# Behind this command both devices are attached, and a connection is split.
ATTACHED = "pepadm dev add sv0"
SIZE = 20000            # bytes that each end of it sends
# The folder /etc of an example, where it writes files.
WITHIN = """
mount --bind "$1" /etc
PATH=$2:$PATH TC_LIB_DIR=$3
export PATH TC_LIB_DIR
eval "$4"
"""


def examples(page, kind="literal"):
    """The blocks of a kind in the examples of a page, each a list of lines;
    those that a backslash continues are one."""
    path = os.path.join(env.TOP, "Documentation/man", page)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    part = re.search(rf"^\.Sh {HEADING}\n(.*?)^\.Sh ", text,
                     re.MULTILINE | re.DOTALL)[1]
    return [block.replace("\\e\n", "").replace("\\-", "-").splitlines()
            for block in re.findall(rf"^\.Bd -{kind}.*?\n(.*?)^\.Ed", part,
                                    re.MULTILINE | re.DOTALL)]


def commands(block):
    """The commands of a block, each with the lines that it prints."""
    found = []
    for line in block:
        if line.startswith("# "):
            found.append((line[2:], []))
        else:
            found[-1][1].append(line)
    return found


def form(line):
    """A regular expression for a line of output: any numbers do."""
    parts = [re.escape(part) for part in line.split("...")]
    return ".*".join(re.sub(r"\d+(\\\.\d+)*", r"[\\d.]+", part)
                     for part in parts).replace(r"\ ", " +")


def carried_out(command):
    """Run a command of an example in the gateway; return its lines."""
    line = JQ.sub("", command)
    if ENDLESS.match(line):
        line = f"timeout -s INT 1 {line}"
    done = run("unshare", "--mount", "sh", "-c", WITHIN, "sh",
               service.folder(), os.path.dirname(env.PEPADM),
               os.path.join(env.TOP, "tools/tc"), line, ns="pep", check=False)
    right = ENDED if ENDLESS.match(JQ.sub("", command)) else 0
    expect(f"exit code of {command!r}, {done.stderr.strip()!r}",
           done.returncode, right)
    return done.stdout.splitlines()


def follow(page):
    """Carry out the examples of a page, from an unconfigured module on."""
    pepadm("conf", "load", "/dev/null")
    pepadm("drain", "off")      # the module stays where a page unloads it
    pepadm("profile", "set", "default", "split", "handshake")
    ran, both = 0, None
    for block in examples(page):
        if not block[0].startswith("# "):
            pepadm("conf", "check", "-", stdin="\n".join(block) + "\n")
            continue
        for command, shown in commands(block):
            if command.split()[0] in ELSEWHERE:
                continue
            ran += 1
            printed = carried_out(command)
            if command.startswith(ATTACHED):
                pep.ready()
                both = split_pair(4)
                exchange_part(both, SIZE)
            for line, got in itertools.zip_longest(
                    shown, printed[:len(shown)], fillvalue=""):
                if not re.fullmatch(form(line), got):
                    fail(f"{command!r} prints {printed}, not {line!r}")
    expect_least("commands", ran, 2)
    if both:
        exchange(both, SIZE)


def setup():
    """A device for the examples of hosts with a single one."""
    pep.detached()
    ip("pep", "link add eth0 type dummy", "link set eth0 up")


@case("pep(4)")
def module():
    follow("pep.4")


@case("pep(4), rules of the firewall")
def rules():
    """Each line of them is one whole rule: a part would accept too much."""
    lines, = examples("pep.4", "unfilled")
    expect("directions", [line.split()[:2] for line in lines],
           [["fib", "daddr"], ["fib", "saddr"]])
    run("nft", "-f", "-", ns="pep", stdin="table inet rules {\nchain rules {\n"
        + "\n".join(lines) + "\n}\n}\n")
    out = run("nft", "-j", "list", "table", "inet", "rules", ns="pep").stdout
    run("nft", "delete", "table", "inet", "rules", ns="pep")
    parts = [[next(iter(part)) for part in item["rule"]["expr"]]
             for item in json.loads(out)["nftables"] if "rule" in item]
    expect("rules", parts, [["match", "match", "accept"]] * 2)


@case("pep.conf(5)")
def configuration():
    follow("pep.conf.5")


@case("pepadm(8)")
def tool():
    follow("pepadm.8")


@case("tc-pepsplit(8)")
def action():
    follow("tc-pepsplit.8")
