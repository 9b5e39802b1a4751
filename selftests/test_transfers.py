# SPDX-License-Identifier: GPL-2.0
"""Files transferred by programs that are unaware of pep: rsync, ssh and scp,
git. Received files are compared by hash, and each transfer is split.

The servers are in srv, the clients in sub."""

import os

from peptest import pep, service
from peptest.env import amount
from peptest.ktap import families
from peptest.netns import addr, run
from peptest.pep import grows
from peptest.service import (fetched, folder, host, listening, path, serve,
                             write)

BYTES = amount(1500000)
FEW = amount(300000)    # for programs that are slow under emulation
RSYNC, SSH, GIT = range(8090, 8093)
SSH_OPTIONS = ("-F", "/dev/null", "-o", "BatchMode=yes", "-o",
               "StrictHostKeyChecking=no", "-o", "LogLevel=ERROR", "-o",
               "UserKnownHostsFile=/dev/null")


def shell():
    """dropbear, with a key of its own and one of the client's. It searches the
    latter only in root's home, and the shell of the session must not run an
    administrator's files there."""
    run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path("id"))
    run("dropbearkey", "-t", "ed25519", "-f", path("host"))
    serve("srv", "unshare", "--mount", "sh", "-ec", f"""
mount -t tmpfs -o mode=700 none /root
mkdir -m 700 /root/.ssh
cp {path("id.pub")} /root/.ssh/authorized_keys
chmod 600 /root/.ssh/authorized_keys
exec dropbear -F -E -s -r {path("host")} -P {path("pid")} -p {SSH}
""")


def files():
    """rsync's daemon and git's."""
    os.makedirs(path("in"), exist_ok=True)
    serve("srv", "rsync", "--daemon", "--no-detach", f"--port={RSYNC}",
          "--config=" + write("rsyncd.conf", f"""
use chroot = no
reverse lookup = no
uid = root
gid = root
[out]
 path = {folder()}
[in]
 path = {path("in")}
 read only = no
"""))
    git("init", "-q", "--bare", path("repo.git"))
    serve("srv", "git", "daemon", "--reuseaddr", "--export-all",
          "--enable=receive-pack", f"--port={GIT}", f"--base-path={folder()}")


def git(*words, ns=None):
    """Run git without the machine's configuration."""
    os.environ.update(GIT_CONFIG_GLOBAL="/dev/null", HOME=folder(),
                      GIT_CONFIG_SYSTEM="/dev/null",
                      GIT_SSH_COMMAND=" ".join(("ssh", *SSH_OPTIONS, "-i",
                                                path("id"))))
    run("git", "-c", "user.name=pep", "-c", "user.email=pep@example.net",
        "-c", "safe.directory=*", *words, ns=ns)


def setup():
    """Everything runs before pep is attached."""
    pep.detached()
    service.payload("file", 12345, BYTES)
    service.payload("small", 54321, FEW)
    shell()
    files()
    listening("srv", RSYNC, SSH, GIT)
    pep.attach()
    pep.follow("handshake")


def teardown():
    """End the servers first."""
    service.services_down()
    pep.teardown()


@families("rsync both ways")
def rsync(family):
    daemon = f"rsync://{host(family)}:{RSYNC}"
    with grows(flow_established=2):
        run("rsync", f"{daemon}/out/file", path("got"), ns="sub")
        run("rsync", path("got"), f"{daemon}/in/got", ns="sub")
    fetched("in/got")
    fetched()


@families("ssh and scp")
def ssh(family):
    """OpenSSH's clients, dropbear as the server."""
    with grows(flow_established=2):
        run("sh", "-c", " ".join(
            ("ssh", *SSH_OPTIONS, "-i", path("id"), "-p", str(SSH),
             f"root@{addr('srv', family)}", f"cat {path('small')}", ">",
             path("got"))), ns="sub")
        run("scp", "-O", "-q", *SSH_OPTIONS, "-i", path("id"), "-P", str(SSH),
            path("got"), f"root@{host(family)}:{path('in/got')}", ns="sub")
    fetched("in/got", "small")
    fetched("got", "small")


def clone(family, kind, source):
    source = source.format(host=host(family), folder=folder())
    work = path(f"work-{kind}{family}")
    again = f"again-{kind}{family}"
    with grows(flow_established=3):
        git("clone", "-q", source, work, ns="sub")
        os.link(path("small"), f"{work}/{kind}{family}")
        git("-C", work, "add", ".")
        git("-C", work, "commit", "-q", "-m", "payload")
        git("-C", work, "push", "-q", "origin", "HEAD", ns="sub")
        git("clone", "-q", source, path(again), ns="sub")
    fetched(f"{again}/{kind}{family}", "small")


families("git, clone and push", "git",
         f"git://{{host}}:{GIT}/repo.git")(clone)
families("git over ssh, clone and push", "ssh",
         f"ssh://root@{{host}}:{SSH}{{folder}}/repo.git")(clone)
