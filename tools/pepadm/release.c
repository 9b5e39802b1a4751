// SPDX-License-Identifier: GPL-2.0
/* Handing connections back to their ends. */
#include "release.h"

#include <unistd.h>

#include "wait.h"

/*
 * Seconds of requests, and us between them. A release takes a round trip; one
 * that is not possible yet, as payload came out of order, takes another, and one
 * whose payload gets lost as long as its repetition. The module gives a release up
 * when it finds it older than this.
 */
#define RELEASE_SECONDS	10
#define RELEASE_EVERY	250000

/**
 * pep_release() - hand connections back, for as long as there are more
 * @ask: requests it once
 * @data: for @ask
 *
 * Takes up to ten seconds and the last request.
 *
 * Return: PEP_OK, or another one after a message.
 */
enum pep_exit pep_release(pep_release_ask *ask, void *data)
{
	__u64 end = pep_wait_end(RELEASE_SECONDS);

	for (;;) {
		/* A request for many devices may take longer than all of it; the next one
		 * finds the connections that were split meanwhile.
		 */
		bool last = pep_wait_over(end);
		enum pep_exit err;
		__u64 n = 0;

		err = ask(data, &n);
		if (err || !n || last)
			return err;
		usleep(RELEASE_EVERY);
	}
}
