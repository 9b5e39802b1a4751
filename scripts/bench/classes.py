# SPDX-License-Identifier: GPL-2.0
"""The classes of the kernel's functions, by their names.

A symbol belongs to the first class whose pattern matches its beginning. The
class of a module's code follows from the module, that of programs from not
being the kernel's.
"""

import re

PEP = "pep's own code"
PROGRAMS = "programs"
REST = "rest"

CLASSES = (
    ("copy and checksum", r"""
        _?copy_(to|from)_(user|iter) | rep_movs | memcpy | __?memcpy |
        csum_ | do_csum | __csum | skb_checksum | __skb_checksum |
        _?copy_(page|from_|to_) | simple_copy | skb_copy_(datagram|bits) |
        memmove | iov_iter(?!_extract) | import_(iovec|ubuf|single_range) |
        clear_page | memset | __?memset | __copy_ | copy_user"""),
    ("skb and page allocation", r"""
        (__)?(alloc|build|kfree|consume|napi_build|napi_alloc)_?skb |
        skb_(release|clone|page_frag|free|attempt_defer|copy_ubufs|morph) |
        kfree_skb | __?skb_(clone|frag|ext|release|unclone|split) |
        skb_head | skbuff | napi_(consume|skb) | sk_skb_reason_drop |
        kmem_cache | kmalloc | kfree | __?kmalloc | slab | ___slab | __slab |
        alloc_pages | __alloc_pages | free_(unref|frozen|pages|compound|page) |
        __free_(pages|one|slab|frozen) | get_page_from | __?put_page |
        __?folio | pskb_ | free_tail_page | allocate_slab | put_cpu_partial |
        build_detached | get_pfnblock | policy_node | __zone | cond_acc |
        rmqueue | __rmqueue | page_(pool|frag) | sk_page_frag | get_page |
        page_frag | skb_page | __skb_pa | prep_(new|compound) |
        (__)?mod_(node|lruvec|zone|memcg|objcg) | obj_cgroup |
        refill | drain_stock | memcg_ | __memcg |
        (try_)?charge | mem_cgroup | __?list_(add|del)_valid |
        __rcu_free | kvfree | kvmalloc | alloc_inode | __check_object |
        check_(stack|heap)"""),
    ("splice and pipes", r"""
        splice | skb_splice | skb_append_pagefrags | iov_iter_extract |
        __?do_splice | pipe_ | .*_splice | generic_pipe |
        sock_spd | add_to_pipe | .*_pipe_"""),
    ("TCP", r"""
        _?_?tcp_ | tcp | inet_(csk|ehash|hash|twsk|reqsk|bind|recv|send|
        stream|accept|shutdown|release|getname|put_port|unhash) |
        __inet(6)?_(lookup|hash|check|stream|bind|inherit|csk|twsk) |
        inet6?_(lookup|ehashfn|csk|hash|sk|getname) | inet_ |
        cubic | bictcp | bbr | reqsk | sk_ | sk_stream | __sk_ | sock_ |
        __sock | skb_(shift|still|rbtree|entail|unlink|queue|dequeue|
        try_coalesce|condense|mstamp|set_owner|orphan|zcopy|zerocopy) |
        secure_tcp | siphash | lock_sock | release_sock | __lock_sock |
        __release_sock | rb_ | __rb_ | minmax | strp | sock | addr_same |
        do_tcp"""),
    ("IP and device", r"""
        ip_ | __ip_ | ip6 | __ip6 | ipv4_ | ipv6_ | fib | __fib | dst_ |
        rt_ | rt6 | neigh | __neigh | arp | nf_ | ipt_ | netif | __netif |
        dev_ | __dev | veth | loopback | eth_ | sch_ | __qdisc | qdisc |
        net_(rx|tx) | napi | __napi | gro | skb_gro | dev_gro | inet_gro |
        skb_(segment|gso|mac_gso|network|push|pull|scrub|vlan|tx) |
        validate_xmit | process_backlog | enqueue_to | tcf | tc_ | cls |
        mall_ | flow_dissect | __skb_(flow|get_hash|pull) | skb_ |
        __skb | route | udp | __udp | raw_ | net_ | icmp | get_rps |
        rps | bpf | __bpf | fou | _*xfrm | l3mdev | in_dev | metadata |
        netdev | find_exception"""),
    ("locking and scheduling", r"""
        _?raw_(spin|read|write) | __raw | _raw | native_(queued|halt) |
        queued | mutex | __mutex | rwsem | down_ | up_ | rcu | __rcu |
        srcu | schedule | __schedule | sched | dequeue_(task|entit) |
        enqueue_(task|entit) | pick_ | put_prev | set_next | update_ |
        try_to_wake | ttwu | wake | __wake | default_wake | select_task |
        reweight | __switch | switch_ | finish_(task|wait) | prepare_to |
        add_wait | remove_wait | autoremove | ep_ | __ep | do_epoll |
        __local_bh | local_bh | handle_softirqs | __do_softirq |
        do_softirq | irq | __irq | tick | hrtimer | __hrtimer | timer |
        ktime | __mod_timer | mod_timer | run_timer | call_timer |
        __?timer | calc_wheel | lock_timer | del_timer | detach_ | kthread |
        process_one | queue_work | __queue | worker | avg_vruntime |
        place_entity | check_preempt | resched | wakeup | cpuacct |
        account | psi | available_idle | entity | yield | nohz |
        cgroup_ | __cgroup | vruntime | min_vruntime | clockevents |
        read_tsc | native_sched | __calc_delta | activate_ | deactivate |
        perf_ | __perf | __list | migrate_ | preempt_ | poll_ | cpuidle |
        do_idle | menu_ | native_apic | x2apic | apic | lapic | _*call_rcu |
        __cond_resched | __softirqentry | percpu_counter"""),
    ("system calls and files", r"""
        do_syscall | syscall | entry_ | __x64 | x64_ | __sys | ___sys |
        __do_sys | vfs | __fget | fget | fput | __fput | fdget | __fd |
        ksys | security_ | apparmor | aa_ | selinux | move_addr |
        exit_to_user | sockfd | copy_msghdr | recv | send |
        alloc_(file|fd|empty) | close_fd | filp | d_ | __d_ | dput |
        iput | new_inode | inode | evict | file_ | do_dentry | dentry|
        task_work | fsnotify | __fsnotify | get_unused | put_unused |
        error_entry | asm_ | restore_regs | paranoid | swapgs | ret_from |
        __get_user | __put_user | audit | do_sys | do_sock | cap_ |
        locks_ | eventpoll | alloc_ | init_ | lockref | __alloc |
        srso | __x86 | retbleed | fpregs | exc_page | handle_mm |
        do_user"""),
)

_PATTERNS = tuple((name, re.compile("(" + re.sub(r"\s", "", text) + ")"))
                  for name, text in CLASSES)

NAMES = (*(name for name, _ in CLASSES), PEP, PROGRAMS, REST)


def classify(symbol, dso):
    """The class of a symbol in an object: [kernel.kallsyms], [MODULE], or a
    program's or a library's file."""
    if dso == "[pep]":
        return PEP
    if not dso.startswith("["):
        return PROGRAMS
    for name, pattern in _PATTERNS:
        if pattern.match(symbol):
            return name
    return REST
