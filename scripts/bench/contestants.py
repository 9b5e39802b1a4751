# SPDX-License-Identifier: GPL-2.0
"""The contestants, which run on the gateway during a work.

Each contestant is a context manager. The proxies in user space get packets by
policy routing: every packet that a device receives is delivered to a socket of
the gateway. That is the cheapest way, without a firewall rule. The proxies
keep the address and port of both ends, as pep does.
"""

import contextlib
import os

from peptest import pep, service
from peptest.netns import ip

from works import IDLE_PORTS, SERVER_PORT

PORTS = range(SERVER_PORT, SERVER_PORT + IDLE_PORTS)
TABLE = 100
MOST = "16777216"       # the largest limit

HAPROXY = """
global
    nbthread 1
    maxconn 20000
defaults
    mode tcp
    timeout connect 60s
    timeout client 600s
    timeout server 600s
    option splice-request
    option splice-response
frontend all
    {binds}
    default_backend origin
backend origin
    option transparent
    source 0.0.0.0 usesrc client
"""

NGINX = """
load_module /usr/lib/nginx/modules/ngx_stream_module.so;
user root;
daemon off;
worker_processes 1;
pid nginx.pid;
error_log stderr;
events {{ worker_connections 20000; }}
stream {{
    server {{
        {listens}
        proxy_bind $remote_addr:$remote_port transparent;
        proxy_pass $server_addr:$server_port;
    }}
}}
"""


@contextlib.contextmanager
def delivered():
    """Make the gateway deliver all packets from its devices locally."""
    rules = [f"rule add pref {TABLE} iif {dev} lookup {TABLE}"
             for dev in ("wl0", "sv0")]
    for family in 4, 6:
        ip("pep", f"route add local default dev lo table {TABLE}", *rules,
           family=family)
    try:
        yield
    finally:
        for family in 4, 6:
            ip("pep", *(rule.replace("add", "del") for rule in rules),
               f"route del local default dev lo table {TABLE}",
               family=family)


@contextlib.contextmanager
def daemon(name, *argv):
    """Run a proxy on the gateway."""
    with delivered():
        service.serve("pep", *argv)
        try:
            service.listening("pep", *PORTS)
            yield
        finally:
            service.end(name)


def haproxy():
    """HAProxy, TCP mode, splice, transparent on both sides."""
    binds = "\n    ".join(f"bind {host}:{port} transparent{only}"
                          for port in PORTS
                          for host, only in (("0.0.0.0", ""),
                                             ("::", " v6only")))
    conf = service.write("haproxy.cfg", HAPROXY.format(binds=binds))
    return daemon("haproxy", "haproxy", "-db", "-f", conf)


def nginx():
    """nginx stream, transparent towards the server; it gets its listening
    sockets from listen.py because it has no option for transparent ones."""
    listens = "\n        ".join(f"listen {host}:{port};" for port in PORTS
                                for host in ("0.0.0.0", "[::]"))
    conf = service.write("nginx.conf", NGINX.format(listens=listens))
    listen = os.path.join(os.path.dirname(__file__), "listen.py")
    return daemon("python3", "python3", listen, str(PORTS.start),
                  str(len(PORTS)), "nginx", "-p", service.folder(),
                  "-c", conf)


def sockmap():
    """The program in tools/bench: sockets in a BPF map, sk_skb verdicts."""
    program = os.path.join(os.environ["BENCH_TOOLS"], "sockmap")
    return daemon("sockmap", program, f"{program}.bpf.o", str(PORTS.start),
                  str(len(PORTS)))


@contextlib.contextmanager
def attached(*settings):
    """pep, with settings of the default profile."""
    pep.load()
    if settings:
        pep.pepadm("profile", "set", "default", *settings)
    # The subscriber here stands for thousands.
    pep.pepadm("limit", "set", "flows", MOST, "subscriber-flows", MOST,
               "subscriber-connections", MOST, "subscriber-rate", "1000000",
               "subscriber-memory", str((1 << 32) - 1))
    pep.attach()
    try:
        yield
    finally:
        pep.flows_end()
        pep.detach()
        pep.unload()


CONTESTANTS = {
    "forward": contextlib.nullcontext,
    "haproxy": haproxy,
    "nginx": nginx,
    "sockmap": sockmap,
    "pep": lambda: attached("split", "handshake"),
    "follow": attached,
    "never": lambda: attached("split", "never"),
}
