// SPDX-License-Identifier: GPL-2.0
/* Unit tests of packets: headers and options, payload that is taken out, delivery. */

#include <kunit/test.h>
#include <linux/bvec.h>
#include <linux/skbuff.h>
#include <linux/string.h>
#include <net/net_namespace.h>
#include <net/tcp.h>

#include "deliver.h"
#include "gather.h"
#include "option.h"
#include "packet.h"
#include "xmit.h"

/**
 * struct pep_kunit_option - a run of TCP options and its meaning
 * @name: shown for the case
 * @opt: the options
 * @len: their length, bytes
 * @kind: expected result
 * @has_ts: a timestamp is expected
 * @tsval: its value
 */
struct pep_kunit_option {
	const char *name;
	u8 opt[40];
	u8 len;
	enum pep_option_kind kind;
	bool has_ts;
	u32 tsval;
};

static const struct pep_kunit_option pep_kunit_options[] = {
	{ "none", { 0 }, 0, PEP_OPTION_PLAIN },
	{ "linux syn",
	  { 2, 4, 5, 0xb4, 4, 2, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 3, 3, 7 },
	  20, PEP_OPTION_PLAIN, true, 0x01020304 },
	{ "end of list hides the rest", { 1, 0, 19, 18 }, 4, PEP_OPTION_PLAIN },
	{ "md5", { 1, 1, 19, 18, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 },
	  20, PEP_OPTION_MD5 },
	{ "ao", { 29, 4, 0, 0 }, 4, PEP_OPTION_AO },
	{ "mptcp behind mss", { 2, 4, 5, 0xb4, 30, 4, 0, 0 }, 8,
	  PEP_OPTION_MPTCP },
	{ "mptcp join", { 30, 12, 0x10, 1 }, 12, PEP_OPTION_MPTCP_JOIN },
	{ "mptcp cut off", { 30, 2, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "md5 behind mptcp", { 30, 4, 0, 0, 19, 18 }, 24, PEP_OPTION_MD5 },
	{ "timestamp behind mptcp",
	  { 30, 4, 0, 0, 1, 1, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0 }, 16,
	  PEP_OPTION_MPTCP, true, 0x01020304 },
	{ "timestamp behind an unknown kind",
	  { 77, 4, 0, 0, 8, 10, 1, 2, 3, 4, 0, 0, 0, 0, 1, 1 }, 16,
	  PEP_OPTION_UNKNOWN, true, 0x01020304 },
	{ "md5 behind an unknown kind, and mptcp", { 77, 4, 0, 0, 19, 18, [22] = 30, 4 },
	  26, PEP_OPTION_UNKNOWN },
	{ "fast open", { 34, 2, 1, 1 }, 4, PEP_OPTION_FASTOPEN },
	{ "experimental fast open", { 254, 4, 0xf9, 0x89 }, 4,
	  PEP_OPTION_FASTOPEN },
	{ "experimental other", { 254, 4, 0x12, 0x34 }, 4,
	  PEP_OPTION_UNKNOWN },
	{ "experimental cut off", { 254, 2, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "unknown kind", { 77, 2, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "length 0", { 2, 0, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "length 1", { 2, 1, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "longer than the header", { 2, 40, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "kind without length", { 1, 1, 1, 2 }, 4, PEP_OPTION_UNKNOWN },
	{ "mss of wrong size", { 2, 3, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
	{ "window scale of wrong size", { 3, 4, 1, 1 }, 4,
	  PEP_OPTION_UNKNOWN },
	{ "sack permitted of wrong size", { 4, 4, 1, 1 }, 4,
	  PEP_OPTION_UNKNOWN },
	{ "timestamp of wrong size", { 8, 4, 1, 1 }, 4, PEP_OPTION_UNKNOWN },
};

KUNIT_ARRAY_PARAM_DESC(pep_kunit_option, pep_kunit_options, name);

static void pep_kunit_option_scan(struct kunit *test)
{
	const struct pep_kunit_option *param = test->param_value;
	struct pep_options found;

	pep_option_scan(param->opt, param->len, &found);
	KUNIT_EXPECT_EQ(test, found.kind, param->kind);
	KUNIT_EXPECT_EQ(test, found.has_ts, param->has_ts);
	if (param->has_ts)
		KUNIT_EXPECT_EQ(test, found.tsval, param->tsval);
}

static void pep_kunit_option_strip(struct kunit *test)
{
	static const u8 plain[] = { 2, 4, 5, 0xb4, 1, 1, 1, 1, 1, 1, 1, 1,
				    4, 2, 1, 1 };
	u8 opt[] = { 2, 4, 5, 0xb4, 30, 8, 1, 2, 3, 4, 5, 6, 4, 2, 1, 1 };
	u8 hidden[] = { 1, 0, 30, 2 }, broken[] = { 2, 9, 30, 2 };

	KUNIT_EXPECT_TRUE(test, pep_option_strip(opt, sizeof(opt)));
	KUNIT_EXPECT_MEMEQ(test, opt, plain, sizeof(opt));
	KUNIT_EXPECT_FALSE(test, pep_option_strip(opt, sizeof(opt)));
	/* Behind the end of the list, or of a broken option, there is none. */
	KUNIT_EXPECT_FALSE(test, pep_option_strip(hidden, sizeof(hidden)));
	KUNIT_EXPECT_EQ(test, hidden[2], 30);
	KUNIT_EXPECT_FALSE(test, pep_option_strip(broken, sizeof(broken)));
	KUNIT_EXPECT_EQ(test, broken[2], 30);
}

/**
 * struct pep_kunit_header - options of an IP header and their meaning
 * @name: shown for the case
 * @opt: the options
 * @len: their length, bytes
 * @kind: expected result; for IPv6, TCP or EXTHDR
 */
struct pep_kunit_header {
	const char *name;
	u8 opt[16];
	u8 len;
	enum pep_packet_kind kind;
};

static const struct pep_kunit_header pep_kunit_headers4[] = {
	{ "none", { 0 }, 0, PEP_PACKET_TCP },
	{ "no operation", { 1, 1, 1, 1 }, 4, PEP_PACKET_TCP },
	{ "end of list hides the rest", { 1, 0, 131, 0 }, 4, PEP_PACKET_TCP },
	{ "router alert", { 148, 4, 0, 0 }, 4, PEP_PACKET_TCP },
	{ "timestamps", { 68, 4, 5, 0 }, 4, PEP_PACKET_TCP },
	{ "record route at its end", { 1, 7, 7, 4, 0, 0, 0, 0 }, 8,
	  PEP_PACKET_TCP },
	{ "loose source route", { 131, 7, 4, 1, 2, 3, 4, 0 }, 8,
	  PEP_PACKET_EXTHDR },
	{ "strict source route", { 137, 7, 4, 1, 2, 3, 4, 0 }, 8,
	  PEP_PACKET_EXTHDR },
	{ "source route that is used up", { 131, 7, 8, 1, 2, 3, 4, 0 }, 8,
	  PEP_PACKET_TCP },
	{ "source route without pointer", { 1, 1, 131, 2 }, 4,
	  PEP_PACKET_EXTHDR },
	{ "length 0", { 7, 0, 0, 0 }, 4, PEP_PACKET_MALFORMED },
	{ "length 1", { 7, 1, 0, 0 }, 4, PEP_PACKET_MALFORMED },
	{ "longer than the header", { 7, 5, 4, 0 }, 4, PEP_PACKET_MALFORMED },
	{ "kind without length", { 1, 1, 1, 7 }, 4, PEP_PACKET_MALFORMED },
};

KUNIT_ARRAY_PARAM_DESC(pep_kunit_header4, pep_kunit_headers4, name);

static void pep_kunit_packet_options4(struct kunit *test)
{
	const struct pep_kunit_header *param = test->param_value;

	KUNIT_EXPECT_EQ(test, pep_packet_options4(param->opt, param->len),
			param->kind);
}

#if IS_ENABLED(CONFIG_IPV6)
static const struct pep_kunit_header pep_kunit_headers6[] = {
	{ "none", { 0 }, 0, PEP_PACKET_TCP },
	{ "padding", { 1, 4, 0, 0, 0, 0 }, 6, PEP_PACKET_TCP },
	{ "single bytes of padding", { 0, 0, 0, 0, 0, 0 }, 6, PEP_PACKET_TCP },
	{ "router alert", { 5, 2, 0, 0, 1, 0 }, 6, PEP_PACKET_TCP },
	{ "unknown, to be skipped", { 0x3e, 4, 0, 0, 0, 0 }, 6,
	  PEP_PACKET_TCP },
	{ "unknown, to be dropped", { 0x5e, 4, 0, 0, 0, 0 }, 6,
	  PEP_PACKET_EXTHDR },
	{ "unknown, to be answered", { 0x9e, 4, 0, 0, 0, 0 }, 6,
	  PEP_PACKET_EXTHDR },
	{ "behind padding", { 1, 0, 0xde, 2, 0, 0 }, 6, PEP_PACKET_EXTHDR },
	{ "jumbo payload", { 0xc2, 4, 0, 1, 0, 0 }, 6, PEP_PACKET_EXTHDR },
	{ "longer than the header", { 1, 5, 0, 0, 0, 0 }, 6,
	  PEP_PACKET_EXTHDR },
	{ "type without length", { 0, 0, 0, 0, 0, 1 }, 6, PEP_PACKET_EXTHDR },
};

KUNIT_ARRAY_PARAM_DESC(pep_kunit_header6, pep_kunit_headers6, name);

static void pep_kunit_packet_options6(struct kunit *test)
{
	const struct pep_kunit_header *param = test->param_value;

	KUNIT_EXPECT_EQ(test, param->kind == PEP_PACKET_TCP,
			pep_packet_options6(param->opt, param->len, false));
}

static void pep_kunit_packet_jumbo(struct kunit *test)
{
	static const u8 jumbo[] = { 0xc2, 4, 0, 1, 0, 0 };
	static const u8 other[] = { 0xc3, 4, 0, 1, 0, 0 };

	KUNIT_EXPECT_TRUE(test, pep_packet_options6(jumbo, sizeof(jumbo),
						    true));
	KUNIT_EXPECT_FALSE(test, pep_packet_options6(other, sizeof(other),
						     true));
}
#endif

/* Linear payload of a page is taken as it is, but not where a clone may write to it, nor
 * that of slab memory; the room of copies that no leg has taken is used again.
 */
static void pep_kunit_gather(struct kunit *test)
{
	struct pep_gather_page to = {};
	struct pep_gather g = { .to = &to };
	struct sk_buff *paged, *slab, *clone;
	struct bio_vec *bvec;
	void *head;

	bvec = kunit_kcalloc(test, PEP_GATHER_BVECS, sizeof(*bvec), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bvec);
	g.bvec = bvec;
	head = (void *)__get_free_page(GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, head);
	paged = build_skb(head, PAGE_SIZE);
	KUNIT_ASSERT_NOT_NULL(test, paged);
	skb_put_zero(paged, 600);
	slab = alloc_skb(100, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, slab);
	skb_put_zero(slab, 100);

	KUNIT_EXPECT_TRUE(test, pep_gather_skb(&g, paged, 0));
	KUNIT_EXPECT_EQ(test, g.copied, 0);
	KUNIT_EXPECT_TRUE(test, pep_gather_skb(&g, slab, 0));
	KUNIT_EXPECT_EQ(test, g.len, 700);
	KUNIT_EXPECT_EQ(test, g.copied, 100);
	KUNIT_EXPECT_EQ(test, to.used, 100);
	KUNIT_EXPECT_EQ(test, pep_gather_taken(&g, 640), 40);
	KUNIT_EXPECT_EQ(test, to.used, 40);

	g = (struct pep_gather){ .bvec = bvec, .to = &to };
	clone = skb_clone(paged, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, clone);
	KUNIT_EXPECT_TRUE(test, pep_gather_skb(&g, paged, 0));
	KUNIT_EXPECT_EQ(test, g.copied, 600);
	KUNIT_EXPECT_EQ(test, pep_gather_taken(&g, 600), 600);
	KUNIT_EXPECT_EQ(test, to.used, 640);

	kfree_skb(clone);
	kfree_skb(slab);
	kfree_skb(paged);
	pep_gather_drop(&to);
}

/* Payload that cannot be read, of a device or of a length that contradicts its parts. */
static void pep_kunit_gather_unreadable(struct kunit *test)
{
	struct pep_gather_page to = {};
	struct pep_gather g = { .to = &to };
	struct bio_vec *bvec;
	struct sk_buff *skb;

	bvec = kunit_kcalloc(test, PEP_GATHER_BVECS, sizeof(*bvec), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, bvec);
	g.bvec = bvec;
	skb = alloc_skb(100, GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, skb);
	skb_put_zero(skb, 100);
	skb->unreadable = 1;
	KUNIT_EXPECT_FALSE(test, pep_gather_skb(&g, skb, 0));
	KUNIT_EXPECT_EQ(test, g.err, -EFAULT);
	KUNIT_EXPECT_EQ(test, g.len, 0);

	g = (struct pep_gather){ .bvec = bvec, .to = &to };
	skb->unreadable = 0;
	skb->len -= 50;
	skb->data_len -= 50;
	KUNIT_EXPECT_FALSE(test, pep_gather_skb(&g, skb, 0));
	KUNIT_EXPECT_EQ(test, g.err, -EFAULT);
	KUNIT_EXPECT_EQ(test, g.len, 0);
	skb->len += 50;
	skb->data_len += 50;
	kfree_skb(skb);
	pep_gather_drop(&to);
}

/* A packet in a page of its own, with a header of the link or without any. */
static void pep_kunit_deliver_compact(struct kunit *test)
{
	static const u8 payload[] = { 1, 2, 3, 4 };
	struct sk_buff *skb;
	struct page *page;
	int mac;

	for (mac = -1; mac < 2; mac++) {
		skb = alloc_skb(128, GFP_KERNEL);
		page = alloc_page(GFP_KERNEL);
		KUNIT_ASSERT_NOT_NULL(test, skb);
		KUNIT_ASSERT_NOT_NULL(test, page);
		memcpy(page_address(page), payload, sizeof(payload));
		skb_reserve(skb, ETH_HLEN);
		skb_reset_network_header(skb);
		if (mac >= 0)
			skb_set_mac_header(skb, mac ? -ETH_HLEN : 0);
		skb_add_rx_frag(skb, 0, page, 0, sizeof(payload), PAGE_SIZE);
		skb = pep_deliver_compact(skb);
		KUNIT_EXPECT_FALSE(test, skb_is_nonlinear(skb));
		KUNIT_EXPECT_EQ(test, skb->len, sizeof(payload));
		KUNIT_EXPECT_MEMEQ(test, skb_network_header(skb), payload, sizeof(payload));
		KUNIT_EXPECT_EQ(test, skb_mac_header_was_set(skb), mac >= 0);
		kfree_skb(skb);
	}
}

/* The route that a leg keeps is valid again with the first packet after a change of
 * other routes.
 */
static void pep_kunit_deliver_route(struct kunit *test)
{
	struct pep_net *pn = kunit_kzalloc(test, sizeof(*pn), GFP_KERNEL);
	struct dst_entry *dst;
	int v4;

	KUNIT_ASSERT_NOT_NULL(test, pn);
	pn->net = &init_net;
	KUNIT_ASSERT_EQ(test, pep_deliver_start(pn), 0);
	KUNIT_EXPECT_NOT_NULL(test, pep_deliver_route(pn, true));
	rcu_read_lock();
	for (v4 = 0; v4 < 2; v4++) {
		dst = pep_deliver_route(pn, v4);
		if (!dst)
			continue;
		KUNIT_EXPECT_PTR_EQ(test, dst->ops->check(dst, 0), dst);
		if (v4)
			rt_genid_bump_ipv4(&init_net);
		else
			rt_genid_bump_ipv6(&init_net);
		KUNIT_EXPECT_NULL(test, dst->ops->check(dst, 0));
		KUNIT_EXPECT_PTR_EQ(test, pep_deliver_route(pn, v4), dst);
		KUNIT_EXPECT_PTR_EQ(test, dst->ops->check(dst, 0), dst);
	}
	rcu_read_unlock();
	pep_deliver_stop(pn);
}

/* SACK blocks become padding, wherever they are; a broken option ends the search. */
static void pep_kunit_xmit_unsack(struct kunit *test)
{
	static const struct {
		u8 before[12];
		u8 after[12];
	} options[] = {
		{ { 1, 1, 5, 10, 1, 2, 3, 4, 5, 6, 7, 8 },
		  { 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1 } },
		{ { 3, 3, 7, 5, 2, 2, 4, 8, 9, 9, 9, 9 },
		  { 3, 3, 7, 1, 1, 2, 4, 8, 9, 9, 9, 9 } },
		{ { 0, 5, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
		  { 0, 5, 10, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
		{ { 1, 5, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9 },
		  { 1, 5, 12, 1, 2, 3, 4, 5, 6, 7, 8, 9 } },
		{ { 1, 9, 1, 5, 2, 3, 4, 5, 6, 7, 8, 9 },
		  { 1, 9, 1, 5, 2, 3, 4, 5, 6, 7, 8, 9 } },
	};
	struct {
		struct tcphdr th;
		u8 options[12];
	} header = { .th.doff = sizeof(header) / 4 };
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(options); i++) {
		memcpy(header.options, options[i].before, sizeof(header.options));
		pep_xmit_unsack(&header.th);
		KUNIT_EXPECT_MEMEQ_MSG(test, header.options, options[i].after,
				       sizeof(header.options), "case %u", i);
	}
}

static struct kunit_case pep_kunit_packet_cases[] = {
	KUNIT_CASE_PARAM(pep_kunit_option_scan, pep_kunit_option_gen_params),
	KUNIT_CASE(pep_kunit_option_strip),
	KUNIT_CASE_PARAM(pep_kunit_packet_options4,
			 pep_kunit_header4_gen_params),
#if IS_ENABLED(CONFIG_IPV6)
	KUNIT_CASE_PARAM(pep_kunit_packet_options6,
			 pep_kunit_header6_gen_params),
	KUNIT_CASE(pep_kunit_packet_jumbo),
#endif
	KUNIT_CASE(pep_kunit_gather),
	KUNIT_CASE(pep_kunit_gather_unreadable),
	KUNIT_CASE(pep_kunit_deliver_compact),
	KUNIT_CASE(pep_kunit_deliver_route),
	KUNIT_CASE(pep_kunit_xmit_unsack),
	{}
};

static struct kunit_suite pep_kunit_packet_suite = {
	.name = "pep_packet",
	.test_cases = pep_kunit_packet_cases,
};

kunit_test_suite(pep_kunit_packet_suite);
