# SPDX-License-Identifier: GPL-2.0
"""Messages that a kernel logs when it detects an error: for the log that the
tests read, and for the console that the lab reads."""

PATTERN = "|".join((
    "WARNING:",
    "BUG:",
    "KASAN:",
    "UBSAN:",
    "possible circular locking",
    "suspicious RCU",
    "Oops",
    "general protection",
    "refcount_t",
    "kmemleak: [1-9]",
    "INFO: task .* blocked",
    "unregister_netdevice: waiting",
    "stalled pool shutdown",
    "Bad page state",
    "Objects remaining",
    "Kernel panic",
))
