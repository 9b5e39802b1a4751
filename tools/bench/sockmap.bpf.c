// SPDX-License-Identifier: GPL-2.0
/* Payload that a socket of the proxy receives leaves by the other of a pair. */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>

#include "sockmap.h"

/* All sockets, by a number that the daemon gave them. */
struct {
	__uint(type, BPF_MAP_TYPE_SOCKMAP);
	__uint(max_entries, SOCKMAP_SOCKETS);
	__type(key, __u32);
	__type(value, __u64);
} sockets SEC(".maps");

/* The number of the other socket of a pair, by a socket's cookie. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, SOCKMAP_SOCKETS);
	__type(key, __u64);
	__type(value, __u32);
} peers SEC(".maps");

SEC("sk_skb/stream_verdict")
int relay(struct __sk_buff *skb)
{
	__u64 cookie = bpf_get_socket_cookie(skb);
	__u32 *peer = bpf_map_lookup_elem(&peers, &cookie);

	if (!peer)
		return SK_DROP;
	return bpf_sk_redirect_map(skb, &sockets, *peer, 0);
}

char program_license[] SEC("license") = "GPL";
