/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_CHOOSE_H
#define _PEP_CHOOSE_H

struct pep_conn;
struct pep_gen;
struct pep_net;

void pep_choose_first(struct pep_net *pn, struct pep_gen *gen,
		      struct pep_conn *conn);
void pep_choose_again(struct pep_net *pn, struct pep_gen *other,
		      struct pep_conn *conn);
void pep_choose_resumed(struct pep_net *pn, struct pep_gen *gen,
			struct pep_conn *conn);

#endif
