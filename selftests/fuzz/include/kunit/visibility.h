/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: the Makefile makes visible what unit tests call. */
