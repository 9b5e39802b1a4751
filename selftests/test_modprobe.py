# SPDX-License-Identifier: GPL-2.0
"""The module as depmod and modprobe see it: loaded by its name, by its use,
and with the modules that it works with."""

import os
import tempfile

from peptest import env, pep
from peptest.ktap import case, expect, wait_for
from peptest.netns import run, topology_up
from peptest.tcp import exchange, pair

RELEASE = os.uname().release
HELPER = "/proc/sys/kernel/modprobe"
SOFT = "tcp_bbr", "tcp_cubic", "sch_ingress", "cls_matchall"
_state = {}


def setup():
    """A folder with this module beside those of the kernel, which the kernel
    itself looks into as well."""
    top = _state["top"] = tempfile.mkdtemp(prefix="pep-modules-")
    os.chmod(top, 0o755)
    folder = f"{top}/lib/modules/{RELEASE}"
    os.makedirs(folder + "/updates")
    of_kernel = f"/lib/modules/{RELEASE}"
    for name in "kernel", "modules.order", "modules.builtin", \
            "modules.builtin.modinfo":
        if os.path.exists(f"{of_kernel}/{name}"):
            os.symlink(f"{of_kernel}/{name}", f"{folder}/{name}")
    os.symlink(env.KO, folder + "/updates/pep.ko")
    run("depmod", "-b", top, RELEASE)
    script = top + "/modprobe"
    with open(script, "w", encoding="ascii") as file:
        file.write(f'#!/bin/sh\nexec /sbin/modprobe -d {top} "$@"\n')
    os.chmod(script, 0o755)
    with open(HELPER, encoding="ascii") as file:
        _state["helper"] = file.read()
    with open(HELPER, "w", encoding="ascii") as file:
        file.write(script)
    topology_up()


def teardown():
    """As it was."""
    with open(HELPER, "w", encoding="ascii") as file:
        file.write(_state["helper"])
    pep.teardown()
    run("rm", "-rf", _state["top"])


def modprobe(*words):
    """modprobe with that folder."""
    run("modprobe", "-d", _state["top"], *words)


def there(name):
    """Is a module loaded, or built in?"""
    return os.path.isdir("/sys/module/" + name) or name in builtin()


def builtin():
    """Modules that are built in, where the kernel's folder tells."""
    try:
        with open(f"/lib/modules/{RELEASE}/modules.builtin",
                  encoding="ascii") as file:
            return {os.path.basename(line.strip())[:-3].replace("-", "_")
                    for line in file}
    except FileNotFoundError:
        return set()


@case("by its name; it brings those that it works with")
def by_name():
    modprobe("pep")
    expect("loaded", pep.loaded(), True)
    if os.path.isdir(f"/lib/modules/{RELEASE}/kernel"):
        expect("not loaded", [name for name in SOFT if not there(name)], [])
    pep.attach()
    exchange(pair(4), 20000)
    pep.flows_end()
    pep.detach()
    pep.unload()


@case("by the use of its netlink family")
def by_family():
    """pepadm needs no modprobe before it."""
    pep.pepadm("stat", "show")
    expect("loaded", pep.loaded(), True)
    pep.unload()


@case("by the use of its action")
def by_action():
    """And an action that is refused does not keep it."""
    expect("exit code", run("tc", "-n", "pep", "actions", "add", "action",
                            "pepsplit", check=False).returncode > 0, True)
    wait_for("the module", pep.loaded)
    pep.unload()


@case("modprobe -r")
def removed():
    modprobe("pep")
    modprobe("-r", "pep")
    pep.gone()
