# SPDX-License-Identifier: GPL-2.0
"""Sites in the module that allocate memory, and faults there: allocations that
fail when called from one site (failslab and fail_page_alloc with their stack
filters)."""

import collections
import os
import re
import subprocess

from . import debugfs, env

# Functions that allocate memory, or call others that do.
ASKING = frozenset("""
__alloc_pages __alloc_skb __kmalloc __kmalloc_cache __kmem_cache_create_args
__kvmalloc_node __napi_alloc_frag_align __pskb_pull_tail __tcp_send_ack
__xa_alloc_cyclic __xa_store alloc_netdev_dummy alloc_workqueue
genl_register_family
ip6_dst_alloc ip6_input ip6_local_out ip6_route_output_flow ip_defrag
ip_local_deliver ip_local_out ip_route_output_flow kernel_bind kernel_listen
kmem_cache_alloc netif_receive_skb_core netlink_broadcast_filtered
netlink_unicast nf_ct_frag6_gather nf_register_net_hooks pcpu_alloc
pep_gather_send
register_pernet_subsys rhashtable_init rhashtable_insert_slow
rht_bucket_nested_insert rt_dst_alloc skb_clone skb_copy skb_copy_expand
skb_copy_ubufs skb_ensure_writable sock_create_kern sock_create_lite
tcf_idr_check_alloc tcf_idr_create_from_flags tcf_register_action
tcp_sendmsg_locked
""".split())
# Those that try again, or elsewhere: it takes several failures in a row.
INSISTING = frozenset("""
__kvmalloc_node __xa_alloc_cyclic __xa_store pcpu_alloc pep_gather_send
tcp_sendmsg_locked
""".split())
POINTER = "a pointer"   # callee of an indirect call, as of socket operations
KINDS = "failslab", "fail_page_alloc"
FILTER = "failslab/require-start"

# These run only when the module is loaded.
LOADING = re.compile("pep_(flow|gen|live|path|pool|queue|track)_init|"
                     "pep_(action|instance)_register")
# The indirect calls of these allocate nothing.
FRUGAL = re.compile("__traceiter_|pep_flow_each|pep_path_flush|"
                    "pep_netlink_flows|pep_link_share|pep_untrack_entry|"
                    "pep_callback_|pep_path_remove|"
                    "pep_leg_keep_alive|cleanup_module|.*[.]cold")

Site = collections.namedtuple("Site", "function number callee start")
Call = collections.namedtuple("Call", "function offset callee")

_FUNCTION = re.compile(r"([0-9a-f]+) <(\S+)>:")
_CODE = re.compile(r"\s+([0-9a-f]+):\t(\S.*)")
_LOAD = re.compile(r"movabs \$0x0,(%\w+)")
_CALL = re.compile(r"call +(?:\*(\S+)|)")
_SYMBOL = re.compile(r"\s+[0-9a-f]+: R_X86_64_(?:64|PLT32)\t(\S+?)"
                     r"(?:_noprof)?(?:-0x4)?$")


def calls(lines):
    """The calls of a disassembly with its relocations: function, offset in it
    of the instruction after the call, called function. User Mode Linux loads
    the address into a register first, x86 calls it directly."""
    function, begin, held, target, waiting = "", 0, {}, None, None
    for line in lines:
        if waiting and (match := _CODE.match(line)):
            yield Call(function, int(match[1], 16) - begin, waiting)
            waiting = None
        if match := _FUNCTION.match(line):
            function, begin, held = match[2], int(match[1], 16), {}
        elif match := _CODE.match(line):
            target = None
            if load := _LOAD.match(match[2]):
                target = load[1]
            elif call := _CALL.match(match[2]):
                waiting = held.get(call[1], POINTER) if call[1] else ""
        elif match := _SYMBOL.match(line):
            if target:
                held[target] = match[1]
            elif waiting == "":
                waiting = match[1]


def addresses():
    """The addresses of the loaded module's functions."""
    with open("/proc/kallsyms", encoding="ascii") as file:
        return {name: int(where, 16) for where, _, name, *module in
                map(str.split, file) if module == ["[pep]"]}


def listing():
    """The disassembly of the module, as lines."""
    return subprocess.run(
        ["objdump", "-dr", "--no-show-raw-insn", env.KO], check=True,
        capture_output=True, text=True).stdout.splitlines()


def sites(lines):
    """The sites in the module, which must be loaded, that allocate memory
    after loading."""
    where, counts = addresses(), collections.Counter()
    for call in calls(lines):
        if call.callee not in ASKING | {POINTER} or \
                call.function not in where or \
                LOADING.match(call.function) or \
                call.callee == POINTER and FRUGAL.match(call.function):
            continue
        counts[call[::2]] += 1
        yield Site(call.function, counts[call[::2]], call.callee,
                   where[call.function] + call.offset)


def faults_possible():
    """Can the kernel make allocations fail by call site?"""
    return env.DEBUG and os.path.exists(debugfs.path(FILTER))


def narrow(start, end):
    """Let allocations fail only where a caller's address is in a range."""
    for kind in KINDS:
        for name, value in (
                ("verbose", 0), ("ignore-gfp-wait", "N"),
                ("stacktrace-depth", 32), ("require-start", start),
                ("require-end", end)):
            debugfs.write(f"{kind}/{name}", value)
    debugfs.write("failslab/cache-filter", "N")
    debugfs.write("fail_page_alloc/min-order", 0)


def arm(site, times):
    """Make the next allocations of a site fail, up to so many times."""
    for kind in KINDS:
        debugfs.write(f"{kind}/probability", 0)
    narrow(site.start, site.start + 1)
    for kind in KINDS:
        for name, value in (("times", times), ("interval", 1),
                            ("probability", 100)):
            debugfs.write(f"{kind}/{name}", value)


def disarm():
    """Make no more allocations fail."""
    for kind in KINDS:
        for name in "probability", "require-start":
            debugfs.write(f"{kind}/{name}", 0)
        debugfs.write(f"{kind}/require-end", (1 << 64) - 1)


def failed(times):
    """Number of allocations that have failed since arm()."""
    return sum(times - int(debugfs.read(f"{kind}/times")) for kind in KINDS)
