# SPDX-License-Identifier: GPL-2.0
"""The module for depmod and modprobe: loaded by its name, by its use, and with
the modules that it works with."""

import os
import shutil
import tempfile

from peptest import env, pep
from peptest.ktap import case, expect
from peptest.netns import run, topology_up
from peptest.tcp import exchange, pair

RELEASE = os.uname().release
HELPER = "/proc/sys/kernel/modprobe"
SOFT = "tcp_bbr", "tcp_cubic", "sch_ingress", "cls_matchall"
_state = {}


def of_kernel():
    """The files of kernel modules that pep needs or works with."""
    needed = run("modinfo", "-F", "depends", env.KO).stdout.strip()
    names = [name for name in needed.split(",") if name]
    done = run("modprobe", "-a", "--show-depends", *SOFT, *names, check=False)
    return [line.split()[1] for line in done.stdout.splitlines()
            if line.startswith("insmod ")]


def setup():
    """A folder with this module and those that it works with, which the kernel
    searches first."""
    top = _state["top"] = tempfile.mkdtemp(prefix="pep-modules-")
    os.chmod(top, 0o755)
    folder = f"{top}/lib/modules/{RELEASE}"
    os.makedirs(folder)
    for path in [env.KO, env.BBR_KO, *of_kernel()]:
        shutil.copy(path, folder)
    run("depmod", "-b", top, RELEASE)
    script = top + "/modprobe"
    with open(script, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\n/sbin/modprobe -d {top} "$@" ||'
                   ' exec /sbin/modprobe "$@"\n')
    os.chmod(script, 0o755)
    with open(HELPER, encoding="ascii") as file:
        _state["helper"] = file.read()
    with open(HELPER, "w", encoding="ascii") as file:
        file.write(script)
    topology_up()


def teardown():
    """Restore the kernel's setting and delete the folder."""
    if "helper" in _state:
        with open(HELPER, "w", encoding="ascii") as file:
            file.write(_state["helper"])
    pep.teardown()
    run("rm", "-rf", _state["top"])


def modprobe(*words):
    """modprobe with that folder."""
    run("modprobe", "-d", _state["top"], *words)


@case("by its name; it brings those that it works with")
def by_name():
    modprobe("pep")
    expect("loaded", pep.loaded(), True)
    there = {os.path.basename(path).partition(".")[0]
             for path in [env.BBR_KO, *of_kernel()]}
    expect("not loaded", [name for name in there
                          if not os.path.isdir("/sys/module/" + name)], [])
    pep.attach()
    exchange(pair(4), 20000)
    pep.flows_end()
    pep.detach()
    pep.unload()


@case("by the use of its netlink family")
def by_family():
    """pepadm needs no prior modprobe."""
    pep.pepadm("stat", "show")
    expect("loaded", pep.loaded(), True)
    pep.unload()


@case("by the name that the kernel has for its action")
def by_action():
    """A filter with the action makes the kernel request this name."""
    modprobe("net-act-pepsplit")
    expect("loaded", pep.loaded(), True)
    pep.unload()


@case("modprobe -r")
def removed():
    modprobe("pep")
    modprobe("-r", "pep")
    pep.gone()
    expect("pep_bbr", os.path.isdir("/sys/module/pep_bbr"), False)
