# SPDX-License-Identifier: GPL-2.0
"""The expected configuration of a gateway after requests were accepted or
refused, and its actual configuration."""

import struct

from . import genl, spec

BYTES = 2               # flag of split-trigger


class Model:
    """Profiles by name and limits, both as values by attribute name; starts
    with the present configuration of the socket's gateway."""

    def __init__(self, sock, family):
        self.sock, self.family = sock, family
        self.spec = spec.load()
        self.attributes = {
            name: {one.number: one for one in self.spec.sets[name]}
            for name in ("profile", "limit")}
        self.split_bytes = self.spec.consts["split-bytes-default"]
        self.profiles, self.limits = self.look()
        self.defaults = None
        self.default_limits = dict(self.limits)

    def ask(self, name, dump=False, attrs=b""):
        """Perform an operation; return the answers as values by name."""
        flags = genl.NLM_F_REQUEST | (genl.NLM_F_DUMP if dump else
                                      genl.NLM_F_ACK)
        self.sock.send(struct.pack(
            "IHHIIBBH", 20 + len(attrs), self.family, flags, 0, 0,
            self.spec.by_name[name].number, 1, 0) + attrs)
        kind = name.split("-")[0]
        return [self.values(kind, dict(genl.attrs(body)))
                for _, body in genl.answers(self.sock)]

    def values(self, kind, found):
        """Attributes as values by their names."""
        values = {}
        for number, data in found.items():
            one = self.attributes[kind][number]
            if one.type == "string":
                values[one.name] = data.split(b"\0")[0]
            elif one.type != "flag":
                values[one.name] = int.from_bytes(data, one.order)
        return values

    def look(self):
        """The present configuration, without the number of flows."""
        profiles = {}
        for values in self.ask("profile-get", dump=True):
            del values["flows"]
            profiles[values["name"]] = values
        limits, = self.ask("limit-get")
        return profiles, limits

    def learn(self):
        """Read the default values of a profile."""
        attr = genl.attr(1, b"plain\0")
        self.ask("profile-add", attrs=attr)
        self.defaults = self.look()[0][b"plain"]
        self.ask("profile-del", attrs=attr)

    def accept(self, frame):
        """A request has been accepted."""
        kind, _, verb = frame.op.name.partition("-")
        if kind not in self.attributes or verb == "get":
            return
        values = self.values(kind, frame.found)
        if kind == "limit":
            if verb == "replace":
                self.limits |= self.default_limits | {
                    "drain": self.limits["drain"]}
            self.limits |= values
        elif verb == "del":
            del self.profiles[values["name"]]
        else:
            before = self.profiles.get(values["name"], self.defaults)
            after = dict(before if verb == "set" else self.defaults)
            after |= {"devices": before["devices"]} | values
            if not after["split-trigger"] & BYTES:
                after["split-bytes"] = self.split_bytes
            self.profiles[values["name"]] = after

    def differs(self):
        """Differences of the gateway from the model, as text; the model then
        takes them over."""
        profiles, limits = self.look()
        wrong = [f"{part}: {was} became {now}" for part, was, now in [
            (name, self.profiles.get(name), profiles.get(name))
            for name in sorted(self.profiles.keys() | profiles.keys())] +
                 [("limits", self.limits, limits)] if was != now]
        self.profiles, self.limits = profiles, limits
        return "; ".join(wrong)
