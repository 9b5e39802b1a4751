// SPDX-License-Identifier: GPL-2.0
/*
 * Small pieces of memory that are allocated for a packet and freed for its
 * acknowledgment: each CPU keeps some to use them again.
 */

#include "spare.h"

#include <linux/percpu.h>
#include <linux/slab.h>

/* Pieces that a CPU keeps. KASAN finds a use after free only of memory that is really
 * freed.
 */
#define PEP_SPARE_MOST	(IS_ENABLED(CONFIG_KASAN) ? 0 : 32)

/**
 * struct pep_spare - an unused piece
 * @next: the next one of the CPU, or NULL
 */
struct pep_spare {
	struct pep_spare *next;
};

/**
 * struct pep_spares - the pieces of a CPU, used by it with BH off
 * @first: one of them, or NULL
 * @n: their number
 */
struct pep_spares {
	struct pep_spare *first;
	unsigned int n;
};

static DEFINE_PER_CPU(struct pep_spares, pep_spares);

/**
 * pep_spare_get() - get a piece of memory
 *
 * Context: BH off.
 * Return: PEP_SPARE_SIZE bytes, not cleared, for pep_spare_put(); or NULL.
 */
void *pep_spare_get(void)
{
	struct pep_spares *spares = this_cpu_ptr(&pep_spares);
	struct pep_spare *spare = spares->first;

	if (!spare)
		return kmalloc(PEP_SPARE_SIZE, GFP_ATOMIC);
	spares->first = spare->next;
	spares->n--;
	return spare;
}

/**
 * pep_spare_put() - give a piece of memory back
 * @memory: from pep_spare_get(), on any CPU
 *
 * Context: BH off.
 */
void pep_spare_put(void *memory)
{
	struct pep_spares *spares = this_cpu_ptr(&pep_spares);
	struct pep_spare *spare = memory;

	if (spares->n >= PEP_SPARE_MOST) {
		kfree(memory);
		return;
	}
	spare->next = spares->first;
	spares->first = spare;
	spares->n++;
}

/**
 * pep_spare_exit() - free the pieces that CPUs keep
 *
 * Context: may sleep; once, at unload, when no piece is in use any more.
 */
void pep_spare_exit(void)
{
	int cpu;

	for_each_possible_cpu(cpu) {
		struct pep_spares *spares = per_cpu_ptr(&pep_spares, cpu);

		while (spares->first) {
			struct pep_spare *spare = spares->first;

			spares->first = spare->next;
			kfree(spare);
		}
	}
}
