/* SPDX-License-Identifier: GPL-2.0 */
/* sockmap - what the daemon and its BPF program agree on. */
#ifndef PEP_BENCH_SOCKMAP_H
#define PEP_BENCH_SOCKMAP_H

/* Sockets that can be in the map, two of each connection. */
#define SOCKMAP_SOCKETS	40000

#endif /* PEP_BENCH_SOCKMAP_H */
