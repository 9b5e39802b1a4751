# SPDX-License-Identifier: GPL-2.0
"""Detaching devices: their profiles are free at once, many devices take hardly
longer than one, and their connections are handed back to their ends.

   sub eth0.21 ... eth0.28 ---- pep wl0.21 ... wl0.28
   198.18.21.2 ...                  198.18.21.1 ...
                                pep sv0.9 ------------- srv eth0.9
                                    198.18.9.1              198.18.9.2
"""

import os
import subprocess
import tempfile
import time

from peptest import env, pep
from peptest.env import SLOW
from peptest.ktap import case, expect, expect_least, fail, skip
from peptest.netns import ip, mount, run, umount
from peptest.pep import grows, pepadm
from peptest.tcp import (PORT, accept, client, exchange, expect_reset, listen,
                         one_way)

NETS = range(21, 29)


def vlan(net, outer, dev, near):
    """Set up a VLAN, with its number as third part of its IPv4 addresses; the
    outer end routes packets from its address to it."""
    for ns, base, host in (outer, "eth0", 2), ("pep", dev, 1):
        ip(ns, f"link add link {base} name {base}.{net} type vlan id {net}",
           f"address add 198.18.{net}.{host}/24 dev {base}.{net}",
           f"link set {base}.{net} up")
    ip(outer, f"rule add from 198.18.{net}.2 lookup {net}",
       f"route add default via 198.18.{net}.1 table {net}", family=4)
    pepadm("dev", "add", f"{dev}.{net}", "side", near)


def setup():
    """The servers' VLAN is attached last, so that its flows have other devices
    to be handed back by."""
    pep.attached()
    run("modprobe", "-q", "8021q", check=False)
    for net in NETS:
        vlan(net, "sub", "wl0", "wireless")
    vlan(9, "srv", "sv0", "server")


@case("a profile is free when its device is detached")
def free():
    ip("pep", "link add d0 type dummy")
    for _ in range(5):
        pepadm("profile", "add", "gold")
        pepadm("dev", "add", "d0", "side", "wireless", "profile", "gold")
        pepadm("-b", "-", stdin="dev del d0\nprofile del gold\n")


def opened():
    """A connection on each of the subscriber's VLANs."""
    return [pep.split_pair(4, to="198.18.9.2", bind=(f"198.18.{net}.2", 0))
            for net in NETS]


@case("connections that are opened early by other devices go on")
def pending():
    """One of each of two VLANs waits for a silent server; one VLAN is
    detached."""
    pep.early()
    exchange(pep.split_pair(4, to="198.18.9.2", bind=("198.18.22.2", 0)), 100)
    pep.flows_end()
    silence = "blackhole 198.18.20.0/22 table 9"
    ip("srv", f"route add {silence}")
    listener = listen("srv", 4)
    near = []
    for net in 21, 22:
        near.append(client("sub", 4, bind=(f"198.18.{net}.2", 0)))
        near[-1].connect(("198.18.9.2", PORT))
    expect("pending", pep.stat("pending"), 2)
    with grows(ended=False, flow_killed=1):
        pepadm("dev", "del", "wl0.21")
    expect("pending", pep.stat("pending"), 1)
    ip("srv", f"route del {silence}")
    exchange((near[1], accept(listener)), 1000)
    expect_reset(near[0])
    pepadm("dev", "add", "wl0.21", "side", "wireless")
    pep.follow("handshake")


@case("listeners are not in the control group of the program that opens them")
def grouped():
    """The filters of pepadm's are not for the traffic of subscribers."""
    if "cgroup2" not in open("/proc/filesystems", encoding="ascii").read():
        skip("no control groups")
    with tempfile.TemporaryDirectory() as path:
        mount("none", path, "cgroup2")
        group = os.path.join(path, "pep-test")
        try:
            os.mkdir(group)
            run("sh", "-c", f"echo $$ > {group}/cgroup.procs && exec "
                f"{env.PEPADM} profile set default mark 7", ns="pep")
            found = run("ss", "-tlnHO", "--cgroup", ns="pep").stdout
            if "cgroup:" not in found:
                skip("sockets have no control groups")
            expect("listeners, with others of before", found.count("cgroup:"),
                   found.count("LISTEN"))
            expect("in the group", found.count("pep-test"), 0)
        finally:
            os.rmdir(group)
            umount(path)
    pepadm("profile", "set", "default", "mark", "0")


@case("an empty configuration detaches all, with one wait for late packets")
def many():
    """Each has a flow that can be handed back and one that cannot, because one
    end has finished."""
    before = pepadm("conf", "save").stdout
    flows, halves = opened(), opened()
    for near, far in halves:
        one_way(near, far, 1000, fin=True)
    expect("flows", len(pep.flows()), 2 * len(NETS))
    begun = time.monotonic()
    with grows(flow_released=len(NETS), flow_killed=len(NETS)):
        pepadm("conf", "load", "/dev/null")
    took = time.monotonic() - begun
    expect("devices", pep.devices(), [])
    for near, _ in halves:
        expect_reset(near)
    for both in flows:
        exchange(both, 100000)
    expect_least("seconds", took, 1)
    if took > len(NETS) - 1 and not SLOW:
        fail(f"it took {took:.1f} s")
    pepadm("conf", "load", "-", stdin=before)
    expect("conf save", pepadm("conf", "save").stdout, before)


@case("a device goes while an empty configuration is loaded")
def vanishing():
    """As a modem does while the machine is shut down: the others are detached,
    and their flows end."""
    before = pepadm("conf", "save").stdout
    near, far = opened()[0]
    one_way(near, far, 1000, fin=True)
    child = subprocess.Popen(["ip", "netns", "exec", "pep", env.PEPADM,
                              "conf", "load", "/dev/null"],
                             stderr=subprocess.PIPE, text=True)
    expect_reset(near)      # late packets are waited for now
    ip("pep", "link del wl0.22")
    expect("exit code before the end", child.poll(), None)
    expect("exit code and messages", (child.wait(30), child.stderr.read()),
           (0, ""))
    expect("devices", pep.devices(), [])
    ip("sub", "link del eth0.22", "rule del from 198.18.22.2 lookup 22")
    vlan(22, "sub", "wl0", "wireless")
    pepadm("conf", "load", "-", stdin=before)
