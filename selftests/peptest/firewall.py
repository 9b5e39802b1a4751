# SPDX-License-Identifier: GPL-2.0
"""A firewall that forwards the packets of connections, with the strictest
conntrack settings; and a single rule."""

import contextlib
import json

from .ktap import expect
from .netns import run, sysctls

RULES = """
table inet strict {
counter invalid { }
chain forward {
type filter hook forward priority 0; policy drop;
meta l4proto ipv6-icmp accept
ct state invalid counter name invalid drop
ct state established accept
tcp flags & (fin | syn | rst | ack) == syn ct state new accept
}
}
"""


def _invalid(ns):
    """Number of packets that conntrack has found invalid."""
    shown = run("nft", "-j", "list", "counter", "inet", "strict", "invalid",
                ns=ns).stdout
    return json.loads(shown)["nftables"][1]["counter"]["packets"]


@contextlib.contextmanager
def strict(ns, rules=""):
    """Within, run such a firewall in a namespace, with additional rules. Fail
    if any packet was invalid."""
    run("modprobe", "-qa", "nf_conntrack", "nft_ct", check=False)
    run("nft", "-f", "-", ns=ns, stdin=RULES + rules)
    try:
        with sysctls(ns, "net.netfilter.nf_conntrack_tcp_loose=0",
                     "net.netfilter.nf_conntrack_tcp_be_liberal=0"):
            yield
            expect(f"packets that are invalid at {ns}", _invalid(ns), 0)
    finally:
        run("nft", "flush", "ruleset", ns=ns)


@contextlib.contextmanager
def ruled(ns, hook, words):
    """Within, a rule for the packets that a namespace has at a hook."""
    run("nft", "-f", "-", ns=ns, stdin=f"""table inet ruled {{
        chain {hook} {{ type filter hook {hook} priority 0; {words}
        }}
    }}
    """)
    try:
        yield
    finally:
        run("nft", "delete", "table", "inet", "ruled", ns=ns)
