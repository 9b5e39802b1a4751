# SPDX-License-Identifier: GPL-2.0
"""Third-party programs as servers: started in a namespace with a configuration
of their own below one folder, awaited, and ended."""

import hashlib
import os
import signal
import subprocess
import tempfile

from .ktap import Failure, must, wait_for
from .netns import Within, addr, run
from .tcp import FAMILIES, pieces

_services = []
_folder = []


def folder():
    """The folder of this test, in memory, readable by all."""
    if not _folder:
        _folder.append(tempfile.mkdtemp(prefix="pep-service-"))
        os.chmod(_folder[0], 0o755)
    return _folder[0]


def path(name):
    """The path of a file or folder in this folder."""
    return os.path.join(folder(), name)


def write(name, text):
    """Make a file; return its path."""
    with open(path(name), "w", encoding="utf-8") as file:
        file.write(text)
    return path(name)


def payload(name, offset, size):
    """Make a file of payload."""
    with open(path(name), "wb") as file:
        for piece in pieces(offset, size):
            file.write(piece)
    return path(name)


def host(family):
    """The server as part of a URL."""
    return addr("srv", 4) if family == 4 else f"[{addr('srv', 6)}]"


def fetched(name="got", source="file"):
    """Fail unless a file equals the one that was sent; delete it."""
    found = []
    for each in source, name:
        with open(path(each), "rb") as file:
            found.append(hashlib.sha256(file.read()).hexdigest())
    must("SHA-256", found[1], found[0])
    os.unlink(path(name))


def serve(ns, *argv):
    """Start a server; its output goes to a log in the folder."""
    log = path(f"{os.path.basename(argv[0])}-{len(_services)}.log")
    with Within(ns), open(log, "wb") as out:
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            cwd=folder(), start_new_session=True)
    _services.append((argv, child, log))


def listening(ns, *ports):
    """Wait until something listens on all ports, for both families."""
    wanted = {(family, port) for port in ports for family in FAMILIES}

    def ready():
        out = run("ss", "-tlnH", ns=ns).stdout
        found = set()
        for line in out.splitlines():
            host, _, port = line.split()[3].rpartition(":")
            both = host == "*"
            for family in FAMILIES:
                if both or (":" in host) == (family == 6):
                    found.add((family, int(port)))
        gone = [(argv, log) for argv, child, log in _services
                if child.poll() is not None]
        if gone:
            raise Failure(f"{gone[0][0]} has ended: {tail(gone[0][1])}")
        return wanted <= found

    wait_for(f"listeners on {ports}", ready, 60)


def tail(log):
    """The last lines of a log."""
    with open(log, encoding="utf-8", errors="replace") as file:
        return "; ".join(file.read().splitlines()[-5:])


def end(name):
    """End the servers of a program."""
    for item in [item for item in _services
                 if os.path.basename(item[0][0]) == name]:
        _services.remove(item)
        try:
            os.killpg(item[1].pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        item[1].wait()


def services_down():
    """End all servers; delete their folder."""
    while _services:
        end(os.path.basename(_services[-1][0][0]))
    if _folder:
        run("rm", "-rf", _folder.pop())
