# SPDX-License-Identifier: GPL-2.0
"""Counters keep their names and numbers: what watches a gateway goes by the
names, what was built with an older header by the numbers. New ones come after
all that are there."""

import json

from peptest import genl, pep
from peptest.ktap import case, expect
from peptest.pep import pepadm

FIRST = 2               # 1 is padding
# In the order of their numbers, up to CPU's, which is no counter.
NAMES = """
flows pending pool_sockets delivered held dropped pass_other pass_no_flow
pass_foreign pass_malformed pass_fragment pass_exthdr pass_icmp pass_not_host
pass_syn pass_mirror syn_split syn_duplicate syn_wait_socket syn_pass_local
syn_pass_scope syn_pass_ip_option syn_pass_data syn_pass_md5 syn_pass_ao
syn_pass_mptcp syn_pass_fastopen syn_pass_option syn_pass_vrf
syn_pass_remembered syn_pass_in_use syn_pass_connect syn_pass_no_memory
syn_pass_no_socket syn_pass_no_listener syn_pass_stopping split_pass_drain
split_pass_max_flows split_pass_max_pending split_pass_pressure syn_pass_bypass
syn_pass_unanswered syn_released syn_cookie time_wait_reused flow_established
connect_refused connect_unreachable connect_timeout connect_asymmetric
connect_failed opener_lost accept_unpaired icmp_delivered flow_closed
flow_reset flow_killed flow_idle bytes_to_wireless bytes_to_server
bytes_fragment bytes_copied relay_send relay_stall relay_owned relay_no_memory
reset_late pool_refill pool_empty fragment_gathered syn_pass_hops pass_quic
split_pass_profile_flows
""".split()
NUMBERS = dict(enumerate(NAMES, FIRST))
PAD, CPU = 1, FIRST + len(NAMES)


def setup():
    """Loaded; the family can be asked in the namespace."""
    pep.detached()


@case("the numbers of the UAPI header")
def header():
    known = genl.names("PEP_A_STAT_")
    expect("the first ones", dict(list(known.items())[:CPU]),
           {PAD: "pad", **NUMBERS, CPU: "cpu"})
    expect("the order", list(known), sorted(known))


@case("the names that pepadm shows, and their order")
def shown():
    found = list(json.loads(pepadm("-j", "stat", "show").stdout))
    expect("the first ones", found[:len(NAMES)], NAMES)
    lines = pepadm("stat", "show").stdout.splitlines()
    expect("as text", [line.split()[0] for line in lines], found)


@case("the numbers that the module sends")
def sent():
    answer, = genl.request("pep", genl.family_id("pep", "pep"),
                           pep.CMD_STAT_GET)
    kinds = [kind for kind, _ in genl.attrs(answer) if kind != PAD]
    expect("the first ones", kinds[:len(NAMES)], list(NUMBERS))
