// SPDX-License-Identifier: GPL-2.0
#include "version.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/**
 * pep_version_module() - version of the module that is loaded
 *
 * Return: the version, as modinfo shows it for the module's file; NULL when
 * none is loaded. It stays until the next call.
 */
const char *pep_version_module(void)
{
	static char text[64];
	FILE *file = fopen("/sys/module/pep/version", "re");
	bool found;

	if (!file)
		return NULL;
	found = fgets(text, sizeof(text), file);
	fclose(file);
	text[strcspn(text, "\n")] = '\0';
	return found ? text : NULL;
}
