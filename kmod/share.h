/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_SHARE_H
#define _PEP_SHARE_H

#include <linux/types.h>

#include "stat-gen.h"

struct pep_net;
struct pep_path;

enum pep_stat pep_share_open(struct pep_net *pn, struct pep_path *path, u64 now);
void pep_share_return(struct pep_net *pn, struct pep_path *path);
void pep_share_enter(struct pep_path *path);
enum pep_stat pep_share_join(struct pep_net *pn, struct pep_path *path);
void pep_share_leave(struct pep_path *path);
enum pep_stat pep_share_full(const struct pep_net *pn,
			     const struct pep_path *path);
enum pep_stat pep_share_room(struct pep_net *pn, struct pep_path *path);
enum pep_stat pep_share_check(struct pep_net *pn, struct pep_path *path);
struct pep_path *pep_share_split(struct pep_path *path);
void pep_share_end(struct pep_path *path);
u64 pep_share_held(const struct pep_path *path);
u64 pep_share_queued(const struct pep_path *path);
s64 pep_share_copied(const struct pep_path *path);
void pep_share_hold(struct pep_net *pn, struct pep_path *path, u32 *noted,
		    u32 bytes);
void pep_share_renew(atomic64_t *sum, u32 *noted, u32 bytes);
void pep_share_copy(struct pep_net *pn, struct pep_path *path, u32 *noted,
		    u32 bytes);
bool pep_share_over(const struct pep_net *pn, const struct pep_path *path);
void pep_share_relieve(struct pep_net *pn);
void pep_share_relieve_again(struct pep_net *pn, bool pressed);

#endif
