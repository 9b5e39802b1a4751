/* SPDX-License-Identifier: GPL-2.0 */
/* Stand-in: nothing is exported. */
