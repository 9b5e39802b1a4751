#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""Run the selftests inside a guest, as one KTAP stream.

usage: run.py [NAME...]
       run.py --list [KERNEL]   print the names of all tests, or of those that
                                a kernel runs unless others are named
       run.py --full KERNEL     print those of a kernel in the full run
       run.py --trait TRAIT     print those with a trait, see peptest/traits.py
       run.py --complaints      print what a kernel's log must not have, an
                                extended regular expression

Environment:
  PEP_KO       pep.ko to load
  PEPADM       pepadm to use
  PEP_KUNIT    pep_kunit.ko, empty when there is none
  PEP_KERNEL   stock, next, fast, frags, debug, rt, kcsan, sim or
               simdebug
  PEP_SOAK_SECONDS, PEP_SOAK_SEED, PEP_NLFUZZ_MESSAGES, PEP_NLFUZZ_SEED
               see peptest/env.py
  PEP_WITHOUT  1: nothing is loaded, the same connections over plain
               forwarding: to see which cases need pep
  PEP_CASE     a part of the text of the cases to run; others are left out, and
               a test without one fails

All network namespaces of the guest are deleted. The exit code is 1 when a test
has failed, and 2 when the command line or the environment is wrong.
"""

import contextlib
import importlib
import os
import re
import select
import shutil
import signal
import subprocess
import sys
import time
import traceback

DIR = os.path.dirname(os.path.abspath(__file__))
NEAR = "/tmp/pep-selftest-programs"
PROGRAMS = ("ip", "tc", "ss", "nstat", "ethtool", "insmod", "rmmod",
            "modprobe", "nft")
TEST_SECONDS = 1500     # that one test may take: idle waits for 900, mostly
sys.dont_write_bytecode = True
sys.path.insert(0, DIR)


def listed(option, argument=None):
    """The tests that an option asks for, None when it is not understood."""
    from peptest import traits
    choices = {
        "--list": lambda name: not argument or traits.suits(name, argument),
        "--full": lambda name: traits.full(name, argument),
        "--trait": lambda name: argument in traits.of(name),
    }
    if option not in choices or not (argument or option == "--list"):
        return None
    names = traits.tests()
    for name in names:
        traits.of(name)         # raises for a mistake, whatever is asked for
    return [name for name in names if choices[option](name)]


def programs_near():
    """A guest of virtme-ng accesses the host's files by 9p and does not cache
    them: a program would be read again at each start. Keep copies of the
    tests' programs in memory."""
    from peptest import env
    with open("/proc/mounts", encoding="utf-8") as mounts:
        if not re.search(r"^\S+ / 9p ", mounts.read(), re.MULTILINE):
            return
    os.makedirs(NEAR + "/bin", exist_ok=True)
    os.makedirs(NEAR + "/lib", exist_ok=True)
    paths = [shutil.which(name) for name in PROGRAMS]
    if os.path.exists(env.PEPADM):
        paths.append(env.PEPADM)
        env.PEPADM = f"{NEAR}/bin/pepadm"
    listing = subprocess.run(["ldd", *paths], capture_output=True, text=True,
                             check=True).stdout
    libs = set(re.findall(r"/[^ :]+\.so[^ :]*", listing))
    for path in paths:
        shutil.copy(path, f"{NEAR}/bin/{os.path.basename(path)}")
    for path in libs:
        near = f"{NEAR}/lib/{os.path.basename(path)}"
        if not os.path.exists(near):
            shutil.copy(path, near)
        if "/ld-linux" in path and not os.path.samefile(path, near):
            subprocess.run(["mount", "--bind", near, path], check=True)
    os.environ["PATH"] = f"{NEAR}/bin:" + os.environ["PATH"]
    os.environ["LD_LIBRARY_PATH"] = f"{NEAR}/lib"


def child(name, write):
    """Run one test in this process, with its output to a pipe."""
    os.setpgid(0, 0)
    os.dup2(write, 1)
    os.dup2(write, 2)
    from peptest import ktap, netns, pep
    if pep.loaded() or netns.spaces():
        print("# an earlier test has left something")
    test = importlib.import_module(f"test_{name}")
    failed = ktap.run(getattr(test, "setup", pep.attached),
                      getattr(test, "teardown", pep.teardown))
    sys.stdout.flush()
    os._exit(1 if failed else 0)


def recover():
    """Clean up after a test that has failed or did not end."""
    from peptest import ktap, netns, pep
    try:
        for ns in netns.spaces():
            done = netns.run("ip", "netns", "pids", ns, check=False)
            for pid in done.stdout.split():
                os.kill(int(pid), signal.SIGKILL)
        pep.teardown()
    except (ktap.Failure, OSError, subprocess.SubprocessError) as what:
        print(f"    # {what}", flush=True)


def run(name):
    """Run one test in a child; return true if it has passed."""
    print(f"    # Subtest: {name}", flush=True)
    read, write = os.pipe()
    pid = os.fork()
    if not pid:
        try:
            os.close(read)
            child(name, write)
        except Exception:       # outside its cases
            for line in traceback.format_exc().splitlines():
                print("#", line)
            sys.stdout.flush()
        finally:
            os._exit(2)
    os.close(write)
    from peptest import env
    end = time.monotonic() + TEST_SECONDS + env.LONGER
    rest = b""
    while True:
        if not select.select([read], [], [], 1)[0]:
            if time.monotonic() > end:
                print("    # it took too long", flush=True)
                break
            continue
        data = os.read(read, 65536)
        if not data:
            break
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            sys.stdout.buffer.write(b"    " + line + b"\n")
        sys.stdout.flush()
    os.close(read)
    if time.monotonic() > end:
        os.killpg(pid, signal.SIGKILL)
    status = os.waitpid(pid, 0)[1]
    if status:
        recover()
    return status == 0


def order(names):
    """The tests, those that look for leaks first: kmemleak is turned off after
    them, because it slows down every allocation."""
    from peptest import debugfs, env, traits
    looking = [name for name in names if "leaks" in traits.of(name)]
    yield from looking
    if env.DEBUG and looking != names:
        with contextlib.suppress(PermissionError):      # already off
            debugfs.write("kmemleak", "off")
    yield from (name for name in names if name not in looking)


def main():
    """Run the requested tests."""
    names = sys.argv[1:]
    from peptest import env, traits
    tests = traits.tests()
    if names in (["-h"], ["--help"]):
        print(__doc__.strip())
        return 0
    if names == ["--complaints"]:
        from peptest import complaints
        print(complaints.PATTERN)
        return 0
    if names and names[0].startswith("-"):
        found = listed(*names) if len(names) < 3 else None
        if found is None:
            print(f"run.py: not understood: {' '.join(names)}",
                  file=sys.stderr)
            return 2
        print("\n".join(found))
        return 0
    unknown = [name for name in names if name not in tests]
    if unknown:
        print(f"run.py: no such selftest: {unknown[0]}", file=sys.stderr)
        return 2
    if not env.WITHOUT and not os.path.exists(env.KO):
        print(f"run.py: PEP_KO names no module: '{env.KO}'", file=sys.stderr)
        return 2
    programs_near()
    names = names or tests
    print(f"TAP version 13\n1..{len(names)}", flush=True)
    failed = 0
    for number, name in enumerate(order(names), 1):
        start = time.monotonic()
        good = run(name)
        failed += not good
        print(f"# {name}: {time.monotonic() - start:.0f} s")
        print(f"{'ok' if good else 'not ok'} {number} {name}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
