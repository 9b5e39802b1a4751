/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the Makefile makes the functions for unit tests visible. */
