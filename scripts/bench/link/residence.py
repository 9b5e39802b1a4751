# SPDX-License-Identifier: GPL-2.0
"""How long payload for the subscriber stays in pep on the gateway."""

import json

from peptest import pep

SHARES = {"residence_p50": 0.5, "residence_p99": 0.99}


def buckets():
    """Samples by the upper ends of their buckets in us; none without pep."""
    if not pep.loaded():
        return {}
    shown = json.loads(pep.pepadm("-j", "stat", "residence").stdout)
    return {bucket["below_us"]: bucket["samples"]
            for bucket in shown["wireless"]["residence"]["buckets"]}


def grown(before, after):
    """Percentiles in ms of the samples that came between two times."""
    counts = sorted((top, count - before.get(top, 0))
                    for top, count in after.items())
    total = sum(count for _, count in counts)
    found, seen = {}, 0
    for top, count in counts:
        seen += count
        for name, share in SHARES.items():
            if name not in found and total and seen >= share * total:
                found[name] = top / 1e3
    return found
