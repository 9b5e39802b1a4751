/* SPDX-License-Identifier: GPL-2.0 */
/* sockmap - definitions that the daemon and its BPF program share. */
#ifndef PEP_BENCH_SOCKMAP_H
#define PEP_BENCH_SOCKMAP_H

/* Sockets that can be in the map, two of each connection. */
#define SOCKMAP_SOCKETS	40000

#endif /* PEP_BENCH_SOCKMAP_H */
