// SPDX-License-Identifier: GPL-2.0
/* Handing connections back to their ends. */
#include "release.h"

#include <unistd.h>

/*
 * How often, and us apart. A release takes a round trip, and one that is not
 * possible yet, for payload that came out of order, is in another.
 */
#define RELEASE_TRIES	8
#define RELEASE_EVERY	250000

/**
 * pep_release() - have connections go back, for as long as there are more
 * @ask: asks for it once
 * @data: for @ask
 *
 * Takes up to two seconds.
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_release(pep_release_ask *ask, void *data)
{
	for (unsigned int i = 0; i < RELEASE_TRIES; i++) {
		enum pep_exit err;
		__u64 n = 0;

		err = ask(data, &n);
		if (err || !n)
			return err;
		usleep(RELEASE_EVERY);
	}
	return PEP_OK;
}
