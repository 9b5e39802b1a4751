# SPDX-License-Identifier: GPL-2.0
"""The floor of a cell: the least time by physics and the subscriber.

That is a round trip for the handshake and one for the request, both of the
whole path; the payload at the link's rate with its headers; and the receive
window that the subscriber offers, which an acknowledgment over the wireless
link moves on. Nothing is lost, and the link's rate is known from the start.
"""

import bisect

from qdisc import FRAME
from tasks import PAGE_LINES, TASKS

PAYLOAD = {4: 1448, 6: 1428}    # of a segment with timestamps


def load(link, window, size):
    """Seconds from the first byte that can be sent until the last of an object
    is received. window is the window that the subscriber offers as it
    receives: pairs of bytes received and the right edge, both growing."""
    payload = PAYLOAD[link.family]
    frame = FRAME * 8e-6 / link.rate
    edges = [edge for _, edge in window]
    arrived = []
    last = 0.0
    for sent in range(payload, size + payload, payload):
        at = bisect.bisect_left(edges, min(sent, size))
        if 0 < at < len(edges):
            opened = arrived[min(window[at][0] // payload,
                                 len(arrived)) - 1] + link.rtt / 1e3
            last = max(last, opened)
        last += frame * min(1, 1 - (sent - size) / payload)
        arrived.append(last)
    return last


def _page(link, window, task):
    """Lines load their objects one after the other, each on a connection of
    its own; together they need the time of all payload."""
    turns = -(-task.count // PAGE_LINES)
    return max(turns * (2 * link.whole + load(link, window, task.size)),
               2 * link.whole + _time(link, task.size * task.count))


def _time(link, size):
    """Seconds that a payload takes at the link's rate."""
    return size / PAYLOAD[link.family] * FRAME * 8e-6 / link.rate


def floors(link, window):
    """The floor of each task that has one, in its unit; a link that varies
    has none."""
    found = {}
    if link.trace or link.handover:
        return found
    for task in TASKS.values():
        handshake = 2 * link.whole
        if task.kind == "object":
            found[task.name] = handshake + load(link, window, task.size)
        elif task.kind == "parallel":
            found[task.name] = handshake + _time(link, task.size * task.count)
        elif task.kind == "page":
            found[task.name] = _page(link, window, task)
        elif task.kind == "kept":
            found[task.name] = link.whole + task.count * (
                link.whole + _time(link, task.size))
        elif task.kind == "upload":
            found[task.name] = handshake + (
                _time(link, task.size) * link.rate / link.up)
        elif task.kind == "long":
            found[task.name] = link.rate * PAYLOAD[link.family] / FRAME
    return {name: round(value, 4) for name, value in found.items()}
