# SPDX-License-Identifier: GPL-2.0
"""A gateway whose TCP and IP are tuned by sysctl: legs take the options of
their ends, whatever this host would negotiate, and connections are whole over
a network that loses packets, split at once or in mid-stream, and handed
back."""

import re

from peptest import pep
from peptest.ktap import expect, families
from peptest.netns import SERVER, WIRELESS, impaired, resets, sysctls
from peptest.pep import grows, hand_back
from peptest.tcp import exchange

TRAITS = {"once"}

BYTES = 200000
OPTIONS = {"ts", "sack", "wscale"}      # that both ends have
LOSSY = "delay 5ms loss random 1% limit 5000".split()
TUNED = {
    "no options": """
        net.ipv4.tcp_timestamps=0 net.ipv4.tcp_sack=0
        net.ipv4.tcp_window_scaling=0 net.ipv4.tcp_ecn=0""",
    "small buffers": """
        net.ipv4.tcp_rmem=4096,4096,4096 net.ipv4.tcp_wmem=4608,4608,4608
        net.ipv4.tcp_notsent_lowat=1 net.ipv4.tcp_limit_output_bytes=4096
        net.ipv4.tcp_moderate_rcvbuf=0 net.ipv4.tcp_shrink_window=1""",
    "against idle connections": """
        net.ipv4.tcp_max_tw_buckets=0 net.ipv4.tcp_fin_timeout=1
        net.ipv4.tcp_tw_reuse=1 net.ipv4.tcp_rfc1337=1
        net.ipv4.tcp_max_syn_backlog=1 net.core.somaxconn=1
        net.ipv4.tcp_synack_retries=0 net.ipv4.tcp_syncookies=2
        net.ipv4.tcp_orphan_retries=1 net.ipv4.tcp_retries1=1
        net.ipv4.tcp_abort_on_overflow=1""",
    "probing of paths": """
        net.ipv4.tcp_mtu_probing=2 net.ipv4.tcp_base_mss=512
        net.ipv4.ip_no_pmtu_disc=1 net.ipv4.route.min_adv_mss=1400
        net.ipv6.route.min_adv_mss=1400 net.ipv4.tcp_min_snd_mss=1000""",
    "another recovery": """
        net.ipv4.tcp_recovery=0 net.ipv4.tcp_reordering=1
        net.ipv4.tcp_frto=0 net.ipv4.tcp_early_retrans=0
        net.ipv4.tcp_dsack=0 net.ipv4.tcp_comp_sack_nr=0
        net.ipv4.tcp_congestion_control=reno net.ipv4.tcp_stdurg=1""",
    "rules for sockets": """
        net.ipv4.tcp_early_demux=0 net.ipv4.ip_early_demux=0
        net.ipv4.tcp_fwmark_accept=1 net.ipv4.tcp_l3mdev_accept=1
        net.ipv4.tcp_reflect_tos=1 net.ipv4.fwmark_reflect=1
        net.ipv4.conf.all.rp_filter=1 net.ipv4.conf.all.log_martians=1
        net.ipv6.flowlabel_reflect=7 net.ipv6.fwmark_reflect=1""",
}


def tuned(family, settings):
    before = resets()
    words = [word.replace(",", " ") for word in settings.split()]
    with sysctls("pep", *words), impaired(WIRELESS + SERVER, *LOSSY):
        for split in "handshake", "20000":
            pep.follow(split)
            with grows(flow_established=1, flow_released=1):
                both = pep.split_pair(family, size=BYTES)
                for side, line in pep.legs().items():
                    expect(f"options of the {side} leg",
                           OPTIONS & set(re.findall("[a-z]+", line)), OPTIONS)
                hand_back()
                exchange(both, BYTES)
            pep.follow(split)
            with grows(flow_established=1, flow_closed=1):
                exchange(pep.split_pair(family, size=BYTES), BYTES)
    expect("resets", resets(), before)


for _text, _settings in TUNED.items():
    families(_text, _settings)(tuned)
