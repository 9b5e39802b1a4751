/* SPDX-License-Identifier: GPL-2.0 */
#ifndef _PEP_CONN_H
#define _PEP_CONN_H

struct pep_conn;
struct pep_net;
struct pep_track_end;
struct sk_buff;

int pep_conn_put_end(struct sk_buff *skb, const struct pep_net *pn,
		     const struct pep_track_end *end);
int pep_conn_put_addresses(struct sk_buff *skb, const struct pep_conn *conn);
int pep_conn_put_ages(struct sk_buff *skb, const struct pep_conn *conn);
int pep_conn_fill(struct sk_buff *skb, const struct pep_net *pn,
		  const struct pep_conn *conn);
void pep_conn_closed(const struct pep_net *pn, const struct pep_conn *conn,
		     unsigned int cause);

#endif
