/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_GEN_H
#define _PEP_GEN_H

#include <linux/refcount.h>
#include <linux/workqueue.h>
#include <uapi/linux/pep.h>

#include "listener.h"
#include "net.h"
#include "pool.h"
#include "tally.h"
#include "values.h"

struct pep_profile;

/* An opener that receives SYN-ACKs gives up by then (tcp_synack_retries 5). */
#define PEP_GEN_LINGER	(64 * HZ)

/* Two address families, two sides of openers. */
#define PEP_GEN_LISTENERS 4

/**
 * struct pep_gen - a generation of a profile: sockets with its settings
 * @node: in pep_net.gens
 * @pn: instance
 * @name: name of the profile
 * @values: settings of its sockets, never changed
 * @live: settings of its flows once they are up; under pep_net.lock
 * @live_seq: changes with @live, 0 for as long as @live equals @values; under
 *	pep_net.lock, read locklessly
 * @closed: it opens and takes over nothing any more; set once, read
 *	locklessly
 * @tally: counts the flows of this name; a reference
 * @server_ifindex: device that server legs are bound to, 0 for none
 * @cc_retry: time from which on a congestion control that was missing is requested
 *	again, seconds since boot; read and written locklessly
 * @listeners: by family and opener, see pep_gen_listener()
 * @pools: ready sockets per CPU
 * @ref: one for the profile or @linger, one per flow, and one per connection
 *	that keeps copies for it
 * @linger: drops the profile's reference when handshakes have had their time
 * @release: frees it all when @ref is zero
 * @rcu: frees the memory
 */
struct pep_gen {
	struct list_head node;
	struct pep_net *pn;
	char name[PEP_NAME_LEN];
	struct pep_values values;
	struct pep_values live;
	u32 live_seq;
	bool closed;
	struct pep_tally *tally;
	int server_ifindex;
	u32 cc_retry;
	struct pep_listener listeners[PEP_GEN_LISTENERS];
	struct pep_pool __percpu *pools;
	refcount_t ref;
	struct delayed_work linger;
	struct work_struct release;
	struct rcu_head rcu;
};

/**
 * pep_gen_listener() - find a listener
 * @gen: generation
 * @family: AF_INET or AF_INET6
 * @opener: side of the openers, enum pep_side
 *
 * Return: the listener, open or not.
 */
static inline struct pep_listener *pep_gen_listener(struct pep_gen *gen,
						    int family,
						    enum pep_side opener)
{
	return &gen->listeners[2 * (family == AF_INET6) + opener];
}

struct pep_gen *pep_gen_create(const struct pep_profile *profile,
			       const struct pep_values *values);
void pep_gen_retire(struct pep_gen *gen);
void pep_gen_put(struct pep_gen *gen);
void pep_gen_stop(struct pep_net *pn);
void pep_gen_flush(void);
int pep_gen_server_ifindex(struct pep_net *pn,
			   const struct pep_values *values);
int pep_gen_bound(const struct pep_gen *gen, enum pep_side side, int ifindex);
int pep_gen_init(void);
void pep_gen_exit(void);

#endif
