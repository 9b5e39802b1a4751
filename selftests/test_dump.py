# SPDX-License-Identifier: GPL-2.0
"""Dumps whose parts end within each attribute of a message: such a message
comes whole in the next part, and nothing twice."""

import contextlib
import itertools

from peptest import genl, pep, spec
from peptest.ktap import case, expect, expect_least
from peptest.netns import ip
from peptest.pep import pepadm
from peptest.tcp import exchange_part, pair

TRAITS = {"once"}

# Bytes of the smallest part: the kernel makes no smaller ones than of a page.
PART = 4096
STEP = 4                # bytes, to which attributes are aligned
HOSTS = 40              # subscribers of each family
PROFILES = 40
HEADERS = 20            # bytes, of netlink and generic netlink
OBJECTS = 1000, 30000, 100000   # bytes, each of another class of sizes
# Of each dump: the set of its attributes, and those that tell messages apart.
DUMPS = {
    "profile-get": ("profile", "name"),
    "flow-get": ("flow", "id"),
    "conn-get": ("conn", "subscriber-addr", "subscriber-port"),
    "flow-export": ("conn", "subscriber-addr", "subscriber-port"),
    "path-get": ("path", "subscriber-addr", "subscriber-prefix"),
    "gain-get": ("gain", "profile", "group", "size"),
}


def sources(family):
    """Addresses of as many subscribers of a family."""
    return [f"198.18.0.{100 + i}" if family == 4 else f"2001:db8::1{i:02}"
            for i in range(HOSTS)]


def setup():
    """Many subscribers and profiles, of which one compares connections."""
    pep.attached()
    ip("sub", *(f"address add {source}/{24 if family == 4 else 64} dev eth0 "
                "nodad" for family in (4, 6) for source in sources(family)))
    pepadm("limit", "set", "prefix6", "128")
    for number in range(PROFILES):
        pepadm("profile", "add", f"p{number}" + number % 13 * "x", "control",
               "50%")
    pepadm("profile", "set", "default", "control", "50%")


@contextlib.contextmanager
def busy():
    """Connections of all subscribers, one half followed, the other split,
    which have loaded objects of all sizes."""
    pairs = [pair(family, bind=(source, 0)) for family in (4, 6)
             for source in sources(family)]
    for size in OBJECTS:
        for both in pairs:
            exchange_part(both, 100, 0)
            exchange_part(both, 0, size)
    pep.quiet()
    expect_least("flows", pep.stat("flows"), HOSTS // 2)
    expect_least("followed", pep.stat("followed"), len(pairs))
    yield
    for sock in itertools.chain(*pairs):
        sock.close()


def dumped(name, size):
    """Messages by what tells them apart, each as its length and the numbers of
    its attributes; and the number of parts."""
    kind, *names = DUMPS[name]
    keys = [one.number for one in spec.load().sets[kind] if one.name in names]
    found, parts = {}, 0
    with genl.ask("pep", genl.family_id("pep", "pep"),
                  spec.load().by_name[name].number, dump=True) as sock:
        for part in genl.parts(sock, size):
            parts += 1
            for _, payload in part:
                have = genl.attrs(payload)
                key = tuple(dict(have).get(number) for number in keys)
                expect(f"{key} is there twice", key in found, False)
                found[key] = len(payload), tuple(n for n, _ in have)
    return found, parts


def cut(name):
    """A dump whose second part ends 4 bytes later each time, until another
    message fits into it."""
    with busy():
        known, _ = dumped(name, 1 << 17)
        longest = max(size for size, _ in known.values()) + HEADERS
        for size in range(PART, PART + longest + STEP, STEP):
            found, parts = dumped(name, size)
            expect(f"lost or cut in parts of {size} bytes",
                   known.items() - found.items(), set())
            expect_least("parts", parts, 3)


for dump in DUMPS:
    case(dump, dump, seconds=300)(cut)
