// SPDX-License-Identifier: GPL-2.0
/* Unit tests of states, names and numbers. */

#include <kunit/test.h>
#include <linux/module.h>
#include <linux/string.h>

#include "compat.h"
#include "face.h"
#include "flow.h"
#include "gain.h"
#include "gen.h"
#include "meter.h"
#include "object.h"
#include "profile.h"
#include "residence.h"
#include "track.h"

static void pep_kunit_flow_transitions(struct kunit *test)
{
	static const struct {
		unsigned int from;
		enum pep_flow_event event;
		int to;
	} legal[] = {
		{ PEP_FLOW_STATE_CONNECTING, PEP_FLOW_UP,
		  PEP_FLOW_STATE_ESTABLISHED },
		{ PEP_FLOW_STATE_CONNECTING, PEP_FLOW_END,
		  PEP_FLOW_STATE_DEAD },
		{ PEP_FLOW_STATE_ESTABLISHED, PEP_FLOW_FIN,
		  PEP_FLOW_STATE_CLOSING },
		{ PEP_FLOW_STATE_ESTABLISHED, PEP_FLOW_END,
		  PEP_FLOW_STATE_DEAD },
		{ PEP_FLOW_STATE_CLOSING, PEP_FLOW_FIN,
		  PEP_FLOW_STATE_CLOSING },
		{ PEP_FLOW_STATE_CLOSING, PEP_FLOW_END, PEP_FLOW_STATE_DEAD },
	};
	unsigned int state, event, i;

	/* Every pair of the table is either listed above or refused. */
	for (state = 0; state <= PEP_FLOW_STATE_DEAD; state++) {
		for (event = 0; event <= PEP_FLOW_END; event++) {
			int expect = -EINVAL;

			for (i = 0; i < ARRAY_SIZE(legal); i++)
				if (legal[i].from == state &&
				    legal[i].event == event)
					expect = legal[i].to;
			KUNIT_EXPECT_EQ_MSG(test, pep_flow_next(state, event),
					    expect, "state %u event %u", state,
					    event);
		}
	}
}

static void pep_kunit_flow_out_of_range(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pep_flow_next(PEP_FLOW_STATE_DEAD + 1, PEP_FLOW_END));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pep_flow_next(PEP_FLOW_STATE_CONNECTING,
				      PEP_FLOW_END + 1));
}

/* As when another CPU has dropped the last reference of the generation meanwhile. */
static void pep_kunit_flow_gen_gone(struct kunit *test)
{
	static const struct pep_flow_ops ops = { .mode = PEP_CONNECT_MODE_FOLLOW };
	static const struct pep_tuple tuple = {};
	struct pep_gen *gen = kunit_kzalloc(test, sizeof(*gen), GFP_KERNEL);
	struct pep_net *pn = kunit_kzalloc(test, sizeof(*pn), GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, gen);
	KUNIT_ASSERT_NOT_NULL(test, pn);
	gen->pn = pn;
	local_bh_disable();
	KUNIT_EXPECT_NULL(test, pep_flow_create(gen, &ops, PEP_SIDE_WIRELESS, &tuple, 1, 0));
	local_bh_enable();
	KUNIT_EXPECT_EQ(test, refcount_read(&gen->ref), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pn->nflows), 0);
	KUNIT_EXPECT_EQ(test, atomic_read(&pn->npending), 0);
}

static void pep_kunit_track_transitions(struct kunit *test)
{
	static const struct {
		enum pep_track_stage from;
		enum pep_track_event event;
		int to;
	} legal[] = {
		{ PEP_TRACK_OPENING, PEP_TRACK_SYNACK, PEP_TRACK_ANSWERED },
		{ PEP_TRACK_OPENING, PEP_TRACK_ADOPT, PEP_TRACK_SPLIT },
		{ PEP_TRACK_OPENING, PEP_TRACK_IMPORT, PEP_TRACK_FOLLOWED },
		{ PEP_TRACK_ANSWERED, PEP_TRACK_ACK, PEP_TRACK_FOLLOWED },
		{ PEP_TRACK_FOLLOWED, PEP_TRACK_FINS, PEP_TRACK_CLOSING },
		{ PEP_TRACK_FOLLOWED, PEP_TRACK_ADOPT, PEP_TRACK_SPLIT },
		{ PEP_TRACK_SPLIT, PEP_TRACK_CUT, PEP_TRACK_RELEASING },
		{ PEP_TRACK_RELEASING, PEP_TRACK_RELEASED,
		  PEP_TRACK_FOLLOWED },
	};
	unsigned int stage, event, i;

	/* Every pair is listed above, ends the connection, or is refused. */
	for (stage = 0; stage < PEP_TRACK_STAGES; stage++) {
		for (event = 0; event < PEP_TRACK_EVENTS; event++) {
			int expect = -EINVAL;

			if (event == PEP_TRACK_END && stage != PEP_TRACK_GONE)
				expect = PEP_TRACK_GONE;
			for (i = 0; i < ARRAY_SIZE(legal); i++)
				if (legal[i].from == stage &&
				    legal[i].event == event)
					expect = legal[i].to;
			KUNIT_EXPECT_EQ_MSG(test, pep_track_next(stage, event),
					    expect, "stage %u event %u", stage,
					    event);
		}
	}
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pep_track_next(PEP_TRACK_STAGES, PEP_TRACK_END));
	KUNIT_EXPECT_EQ(test, -EINVAL,
			pep_track_next(PEP_TRACK_OPENING, PEP_TRACK_EVENTS));
}

static void pep_kunit_profile_names(struct kunit *test)
{
	static const char * const good[] = {
		"a", "default", "A-b_c.9", "123456789012345",
	};
	static const char * const bad[] = {
		"", "-a", "a b", "a/b", "\xc3\xa4", "a\n", "1234567890123456",
	};
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(good); i++)
		KUNIT_EXPECT_TRUE_MSG(test, pep_profile_name_ok(good[i]),
				      "\"%s\"", good[i]);
	for (i = 0; i < ARRAY_SIZE(bad); i++)
		KUNIT_EXPECT_FALSE_MSG(test, pep_profile_name_ok(bad[i]),
				       "\"%s\"", bad[i]);
}

static void pep_kunit_profile_defaults(struct kunit *test)
{
	struct pep_values values, again;

	memset(&values, 0xff, sizeof(values));
	pep_profile_defaults(&values);
	/* Each byte is set, since profiles are compared as a whole. */
	memset(&again, 0, sizeof(again));
	pep_profile_defaults(&again);
	KUNIT_EXPECT_MEMEQ(test, &values, &again, sizeof(values));
	KUNIT_EXPECT_STREQ(test, values.cc[PEP_SIDE_WIRELESS], "pep_bbr");
	KUNIT_EXPECT_STREQ(test, values.cc[PEP_SIDE_SERVER], "cubic");
	KUNIT_EXPECT_EQ(test, values.mode, PEP_CONNECT_MODE_FOLLOW);
	KUNIT_EXPECT_EQ(test, values.split_trigger,
			PEP_SPLIT_TRIGGER_BYTES | PEP_SPLIT_TRIGGER_LOSS);
	KUNIT_EXPECT_EQ(test, values.split_bytes, 12000);
	KUNIT_EXPECT_EQ(test, values.dscp, PEP_DSCP_COPY);
	KUNIT_EXPECT_EQ(test, values.mptcp, PEP_MPTCP_MODE_BYPASS);
	KUNIT_EXPECT_EQ(test, values.source, PEP_SOURCE_MODE_CLIENT);
	KUNIT_EXPECT_EQ(test, values.idle_timeout, 0);
	KUNIT_EXPECT_EQ(test, values.release_idle, 120);
	KUNIT_EXPECT_EQ(test, values.residence, 50);
	KUNIT_EXPECT_EQ(test, values.initial_window, 0);
	KUNIT_EXPECT_EQ(test, values.resume, PEP_RESUME_MODE_ON);
	KUNIT_EXPECT_EQ(test, values.resume_max, 2097152);
}

static void pep_kunit_residence_bucket(struct kunit *test)
{
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(0), 0);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(999), 0);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(1000), 1);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(1999), 1);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(2000), 2);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(1023999), 10);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(1024000), 11);
	KUNIT_EXPECT_EQ(test, pep_residence_bucket(U64_MAX),
			PEP_RESIDENCE_BUCKETS - 1);
}

/* Consecutive bins, by their ends as pepadm computes them. */
static void pep_kunit_gain_bin(struct kunit *test)
{
	u64 begin = 0, end;
	unsigned int bin;

	for (bin = 0; bin < PEP_GAIN_BINS - 1; bin++) {
		end = (8ULL + bin % 8) << (bin / 8) << 4;
		KUNIT_EXPECT_EQ(test, pep_gain_bin(begin), bin);
		KUNIT_EXPECT_EQ(test, pep_gain_bin(end - 1), bin);
		begin = end;
	}
	KUNIT_EXPECT_EQ(test, pep_gain_bin(begin), PEP_GAIN_BINS - 1);
	KUNIT_EXPECT_EQ(test, pep_gain_bin(U64_MAX), PEP_GAIN_BINS - 1);
}

static void pep_kunit_gain_size(struct kunit *test)
{
	unsigned int class;
	u64 end;

	KUNIT_EXPECT_EQ(test, pep_gain_size(1), 0);
	for (class = 0; class < PEP_GAIN_SIZES - 1; class++) {
		end = 16384ULL << 2 * class;
		KUNIT_EXPECT_EQ(test, pep_gain_size(end), class);
		KUNIT_EXPECT_EQ(test, pep_gain_size(end + 1), class + 1);
	}
	KUNIT_EXPECT_EQ(test, pep_gain_size(U64_MAX), PEP_GAIN_SIZES - 1);
}

static void pep_kunit_gain_add(struct kunit *test)
{
	struct pep_gain_times *times = kunit_kzalloc(test, sizeof(*times),
						     GFP_KERNEL);

	KUNIT_ASSERT_NOT_NULL(test, times);
	pep_gain_add(times, 100, 10, 0);
	pep_gain_add(times, 130, 20, 1);
	pep_gain_add(times, 100, 30, 2);
	pep_gain_add(times, 7, 0, 0);
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->count[0]), 3);
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->count[1]), 1);
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->time), 337);
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->bytes), 60);
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->conns), 2);
	/* Three of one connection, and one of another. */
	KUNIT_EXPECT_EQ(test, atomic64_read(&times->squares), 10);
}

/* An answer that is late by hours, as to a long poll, begins when it was asked for. */
static void pep_kunit_object_answer(struct kunit *test)
{
	static const u64 takes[] = { 0, NSEC_PER_SEC, 80 * 60 * NSEC_PER_SEC,
				     70 * 3600 * NSEC_PER_SEC };
	u64 asked = 123456789 * NSEC_PER_SEC;
	struct pep_meter *meter;
	unsigned int i;

	meter = kunit_kzalloc(test, sizeof(*meter), GFP_KERNEL);
	KUNIT_ASSERT_NOT_NULL(test, meter);
	for (i = 0; i < ARRAY_SIZE(takes); i++) {
		meter->open = false;
		meter->asking = true;
		meter->asked = asked >> PEP_METER_ASKED;
		pep_object_answer(meter, true, 0, asked + takes[i]);
		KUNIT_EXPECT_LE(test, abs((s64)(asked - meter->since)),
				1LL << PEP_METER_ASKED);
		KUNIT_EXPECT_FALSE(test, meter->asking);
	}
}

/* A device is one of the other side while it is none of both, nor forgotten. */
static void pep_kunit_face_other(struct kunit *test)
{
	struct pep_net *pn = kunit_kzalloc(test, sizeof(*pn), GFP_KERNEL);
	struct pep_net_face *faces;
	int i;

	KUNIT_ASSERT_NOT_NULL(test, pn);
	faces = pn->faces[PEP_SIDE_SERVER];
	KUNIT_EXPECT_FALSE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 1));
	pep_face_learn(pn, PEP_SIDE_SERVER, 1);
	KUNIT_EXPECT_TRUE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 1));
	KUNIT_EXPECT_FALSE(test, pep_face_other(pn, PEP_SIDE_SERVER, 1));
	/* As seen by a CPU that is a second behind. */
	faces[0].seen++;
	KUNIT_EXPECT_TRUE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 1));
	for (i = 2; i <= PEP_NET_FACES; i++)
		pep_face_learn(pn, PEP_SIDE_SERVER, i);
	for (i = 1; i <= PEP_NET_FACES; i++)
		KUNIT_EXPECT_TRUE_MSG(test, pep_face_other(pn, PEP_SIDE_WIRELESS, i),
				      "device %d", i);
	/* The one that was noted longest ago makes room. */
	faces[3].seen -= 5;
	pep_face_learn(pn, PEP_SIDE_SERVER, 99);
	KUNIT_EXPECT_EQ(test, faces[3].ifindex, 99);
	KUNIT_EXPECT_FALSE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 4));
	pep_face_learn(pn, PEP_SIDE_WIRELESS, 99);
	KUNIT_EXPECT_FALSE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 99));
	faces[0].seen -= 3600;
	KUNIT_EXPECT_FALSE(test, pep_face_other(pn, PEP_SIDE_WIRELESS, 1));
}

static struct kunit_case pep_kunit_cases[] = {
	KUNIT_CASE(pep_kunit_flow_transitions),
	KUNIT_CASE(pep_kunit_flow_out_of_range),
	KUNIT_CASE(pep_kunit_flow_gen_gone),
	KUNIT_CASE(pep_kunit_track_transitions),
	KUNIT_CASE(pep_kunit_profile_names),
	KUNIT_CASE(pep_kunit_profile_defaults),
	KUNIT_CASE(pep_kunit_residence_bucket),
	KUNIT_CASE(pep_kunit_gain_bin),
	KUNIT_CASE(pep_kunit_gain_size),
	KUNIT_CASE(pep_kunit_gain_add),
	KUNIT_CASE(pep_kunit_object_answer),
	KUNIT_CASE(pep_kunit_face_other),
	{}
};

static struct kunit_suite pep_kunit_suite = {
	.name = "pep",
	.test_cases = pep_kunit_cases,
};

kunit_test_suite(pep_kunit_suite);

PEP_IMPORT_KUNIT_NS();
MODULE_DESCRIPTION("Unit tests of pep");
MODULE_LICENSE("GPL");
