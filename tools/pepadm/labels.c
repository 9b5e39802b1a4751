// SPDX-License-Identifier: GPL-2.0
/* Names of samples for Prometheus, with their labels. */
#include "labels.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "netns.h"
#include "utf8.h"

/* Show one label, after others if there are any. */
static void show_label(const char *name, const char *value, bool *others)
{
	size_t len;

	printf("%c%s=\"", *others ? ',' : '{', name);
	for (; *value; value += len ? len : 1) {
		len = pep_utf8_len(value);
		if (*value == '\\' || *value == '"')
			putchar('\\');
		if (*value == '\n')
			fputs("\\n", stdout);
		else if (len)
			fwrite(value, 1, len, stdout);
		else
			fputs("\xef\xbf\xbd", stdout);	/* U+FFFD, as in JSON */
	}
	putchar('"');
	*others = true;
}

/**
 * pep_labels_show() - begin a sample of a metric, with its labels
 * @metric: its name, without "pep_"
 *
 * Pairs of a label's name and its value follow @metric; a name of NULL ends them. The
 * first label is the namespace, where the command line names one, so that samples of
 * several can stand beside each other.
 */
void pep_labels_show(const char *metric, ...)
{
	const char *name, *value;
	bool others = false;
	va_list labels;

	printf("pep_%s", metric);
	if (pep_netns_name())
		show_label("netns", pep_netns_name(), &others);
	va_start(labels, metric);
	while ((name = va_arg(labels, const char *))) {
		value = va_arg(labels, const char *);
		show_label(name, value, &others);
	}
	va_end(labels);
	if (others)
		putchar('}');
	putchar(' ');
}
