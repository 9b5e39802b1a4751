# SPDX-License-Identifier: GPL-2.0
"""Each attribute of each operation at the ends of its range, and beyond, one
request for each."""

from . import genl, spec
from .forge import Message, pack
from .judge import NEEDS, NESTED

# Attributes that exclude connections which an operation must not end.
AIMED = dict.fromkeys(("flow-kill", "flow-release"), ("server-port",))


def _numbers(attribute):
    """Values at both ends of a number's range, and next to them, as far as
    they fit into its size."""
    most = (1 << 8 * max(attribute.sizes)) - 1
    low, high = attribute.low, attribute.high
    if attribute.range:
        low, high, _ = attribute.range
    if attribute.mask is not None:
        high = attribute.mask
    high = most if high is None else high
    return sorted({value for value in (0, 1, low - 1, low, high, high + 1,
                                       most) if 0 <= value <= most})


def _payloads(attribute):
    """Payloads that are valid, and some that are almost valid."""
    if attribute.type == "string":
        size = attribute.length
        return [b"\0", b"a\0", b"x" * size + b"\0", b"x" * (size + 1) + b"\0",
                b"x" * size, b"x", b"", b"a\0b", b"\0" * (size + 1),
                b"\0" * (size + 2)]
    if attribute.type == "binary":
        return [bytes(size) for size in (0, 3, 4, 5, 15, 16, 17, 255)]
    if attribute.type == "flag":
        return [b"", b"\0", bytes(4)]
    found = [bytes(size) for size in range(10)]
    for size in attribute.sizes:
        found += [value.to_bytes(size, attribute.order)
                  for value in _numbers(attribute)
                  if value >> 8 * size == 0]
    return found


def variants(attribute, whole=b""):
    """An attribute in many forms: numbers with flags, and payloads. A nest
    has one inner attribute that differs from a complete nest."""
    number = attribute.number
    if not attribute.nested:
        payloads = _payloads(attribute)
        for payload in payloads:
            yield number, payload
        yield number | NESTED, payloads[-1]
        return
    inner = spec.load().nested(attribute)
    for one in inner.values():
        rest = b"".join(pack(*have) for have in genl.attrs(whole)
                        if have[0] != one.number)
        yield number | NESTED, rest
        for kind, payload in variants(one):
            yield number | NESTED, rest + pack(kind, payload)
    for payload in b"", b"\0", bytes(4), whole + pack(max(inner) + 1, b""):
        yield number | NESTED, payload
    yield number, whole


def _base(forge, op, request):
    """The attributes that an operation needs here."""
    if op.name == "flow-import":
        return forge.connection(request)
    names = NEEDS.get(op.name, ()) + AIMED.get(op.name, ())
    return [(one.number, forge.payload(one), None)
            for one in request.policy.values() if one.name in names]


def requests(forge):
    """All requests, each with the other attributes that its operation
    needs."""
    for op, request in forge.requests:
        for attribute in (request.policy or {}).values():
            base = {attr[0] & ~NESTED: attr
                    for attr in _base(forge, op, request)}
            _, whole, _ = base.pop(attribute.number, (0, b"", None))
            for kind, payload in [(0, None), *variants(attribute, whole)]:
                message = Message(forge.family, op.number, request.dump)
                message.attrs = list(base.values())
                if payload is not None:
                    message.attrs.append((kind, payload, None))
                yield message
