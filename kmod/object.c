// SPDX-License-Identifier: GPL-2.0
/*
 * Objects of a connection that is measured.
 *
 * The ends' packets as they come, which look the same in both groups, begin and end each
 * object. An object is the payload that the server sends between two turns of the
 * subscriber. A turn is payload that acknowledges all that has arrived for the subscriber,
 * and that the server's next payload acknowledges: other payload goes on with the object
 * before. The object begins with the last packet of the turn, or with the connection, and
 * lasts until the last new acknowledgment. The answer to a turn in which the subscriber
 * sends much is no object, nor is what a server sends unasked after a pause.
 *
 * All functions: BH off, with the meter locked.
 */

#include "object.h"

#include <kunit/visibility.h>
#include <linux/export.h>
#include <net/tcp.h>

#include "gain.h"
#include "meter.h"
#include "packet.h"

/* Payload that a subscriber may send for an object, bytes. */
#define PEP_OBJECT_REQUEST	16384

/* Silence after which a server's payload, unasked, is no part of the object before, ns;
 * four round trips more.
 */
#define PEP_OBJECT_PAUSE		(3ULL * NSEC_PER_SEC)

/**
 * pep_object_close() - count the object, if it is one
 * @meter: meter of the connection
 * @sent: payload that the subscriber has sent for it, bytes
 *
 * Context: BH off, @meter locked.
 */
void pep_object_close(struct pep_meter *meter, u32 sent)
{
	u64 bytes = meter->bytes - meter->begun;
	unsigned int class;

	if (!meter->open || meter->none || !bytes || sent > PEP_OBJECT_REQUEST)
		return;
	class = pep_gain_size(bytes);
	pep_gain_add(&pep_meter_group(meter)->size[class],
		     div_u64(meter->last - meter->since, NSEC_PER_USEC), bytes,
		     meter->objects[class]);
	if (meter->objects[class] < U16_MAX)
		meter->objects[class]++;
}

/* Begin an object behind all that the subscriber has acknowledged. */
static void pep_object_open(struct pep_meter *meter, u64 since)
{
	meter->open = true;
	meter->none = false;
	meter->begun = meter->bytes;
	meter->since = since;
}

/* What a server sends a long time after all was acknowledged, unasked, is a message of
 * its own, as the end of TLS in front of a FIN.
 */
static bool pep_object_pause(const struct pep_meter *meter, u64 now)
{
	return meter->idle && meter->bytes != meter->begun &&
	       now - meter->last > PEP_OBJECT_PAUSE +
				   4ULL * NSEC_PER_USEC * meter->rtt;
}

/* The subscriber has acknowledged more. */
static void pep_object_acked(struct pep_meter *meter, u32 ack, u64 now)
{
	if (pep_object_pause(meter, now)) {
		pep_object_close(meter, meter->sent);
		meter->begun = meter->bytes;
		meter->none = true;
	}
	/* The server sends first. */
	meter->open = true;
	meter->bytes += ack - meter->ack;
	meter->ack = ack;
	meter->last = now;
}

/**
 * pep_object_packet() - evaluate a packet of the subscriber
 * @meter: meter of the connection
 * @pkt: the packet
 * @seen: number behind all payload that has been received from the subscriber
 * @high: number behind all payload that has been received for the subscriber, which a FIN
 *	may follow
 * @now: time, ns of ktime_get_ns()
 *
 * Context: BH off, @meter locked.
 */
void pep_object_packet(struct pep_meter *meter, const struct pep_packet *pkt,
		       u32 seen, u32 high, u64 now)
{
	u32 last = ntohl(pkt->th->seq) + pkt->payload;
	u32 ack = ntohl(pkt->th->ack_seq);

	if (!pkt->th->ack || after(ack, high + 1))
		return;
	if (after(ack, high))
		ack = high;
	if (after(ack, meter->ack))
		pep_object_acked(meter, ack, now);
	meter->all = !before(meter->ack, high);
	meter->idle = meter->all;
	/* A repeated request, or a keepalive that repeats a byte, asks for nothing. */
	if (!pkt->payload || !after(last, seen))
		return;
	if (!meter->asking &&
	    (!meter->open || (meter->all && meter->bytes != meter->begun))) {
		WRITE_ONCE(meter->asking, true);
		meter->turn = last;
		meter->before = meter->sent;
	}
	meter->asked = now >> PEP_METER_ASKED;
	meter->sent += min_t(u32, pkt->payload, U32_MAX - meter->sent);
}

/**
 * pep_object_answer() - evaluate the first payload of the server since the subscriber has
 *	sent something
 * @meter: meter of the connection, which is asking
 * @answer: it acknowledges that; otherwise it left before that arrived, and goes on with
 *	the object
 * @begun: no object begins before, ns of ktime_get_ns()
 * @now: time, ns of ktime_get_ns()
 *
 * Context: BH off, @meter locked.
 */
void pep_object_answer(struct pep_meter *meter, bool answer, u64 begun, u64 now)
{
	u64 asked = now - ((u64)(u32)((now >> PEP_METER_ASKED) - meter->asked)
			   << PEP_METER_ASKED);

	WRITE_ONCE(meter->asking, false);
	if (!answer)
		return;
	pep_object_close(meter, meter->before);
	meter->sent -= meter->before;
	pep_object_open(meter, max(asked, begun));
}
EXPORT_SYMBOL_IF_KUNIT(pep_object_answer);
