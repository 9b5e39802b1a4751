# SPDX-License-Identifier: GPL-2.0
"""Random load: connections, networks and administration at the same time.

Each thread has its own random number generator, derived from the seed. Streams
are compared byte by byte on arrival: a stream that a reset breaks must be
correct up to there, and must not end as if it were complete."""

import collections
import contextlib
import errno
import json
import random
import select
import socket
import struct
import threading
import time

from . import bypass, debugfs, env, pep
from .ktap import Failure, Fatal, wait_for
from .netns import (SERVER, WIRELESS, Within, addr, ip, netem, netem_end, run,
                    spaces, spaces_down, sysctl, topology_up)
from .settings import OPTIONS
from .tcp import FAMILIES, difference, next_offset, pieces

PORTS = 7000            # of listeners, one for each thread
OPENERS = 41000         # a few source ports per thread, used repeatedly
HANG = 400              # seconds that a connection may be without progress
SLOWLY = 3 * HANG       # limit for a connection with the smallest windows
CONNECT = 30            # seconds
LAST = 100              # actions in the report, besides those within
AROUND = 5              # seconds before and after the last progress
DEVICES = ("wl0", "wireless"), ("sv0", "server")
GIVES_UP = ("net.ipv4.tcp_keepalive_time=60", "net.ipv4.tcp_keepalive_intvl=5")
KEEPALIVE = ((socket.TCP_KEEPIDLE, 20), (socket.TCP_KEEPINTVL, 5),
             (socket.TCP_KEEPCNT, 8))
# Errors that may end a connection before it is complete.
BROKEN = {errno.ECONNRESET, errno.EPIPE, errno.ETIMEDOUT, errno.EHOSTUNREACH,
          errno.ENETUNREACH, errno.ECONNABORTED, errno.ECONNREFUSED,
          errno.EACCES, errno.ENOTCONN}


def setup():
    """The usual topology, with another way for the packets of each end."""
    pep.attached()
    bypass.linked()


class Party:
    """One end of a connection: sends size bytes and then its FIN, or resets
    before; pauses reading at times; sends small pieces, or urgent bytes."""

    def __init__(self, sock, size, rnd):
        self.sock, self.size, self.rnd = sock, size, rnd
        self.offset = next_offset()
        self.sent = self.received = 0
        self.shut = self.eof = False
        self.error = None
        self.peer = None
        self.piece = rnd.choice((1 << 18, 1 << 16, 5000, 1448, 100, 7))
        if self.piece < 1000:
            self.size = min(size, self.piece * 300)
        self.reset_at = rnd.randrange(size + 1) if rnd.random() < .1 else None
        self.deaf_until = 0
        self.stalls = rnd.random() < .2
        self.urgent = rnd.random() < .05
        sock.setblocking(False)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_OOBINLINE, 1)
        for option, value in KEEPALIVE:
            sock.setsockopt(socket.IPPROTO_TCP, option, value)
        if self.piece < 1000:
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @property
    def done(self):
        """Has the end finished?"""
        return bool(self.error) or self.shut and self.eof

    @property
    def events(self):
        """Events to wait for."""
        if self.error:
            return 0
        deaf = self.eof or time.monotonic() < self.deaf_until
        return (0 if deaf else select.POLLIN) | (
            0 if self.shut else select.POLLOUT)

    def forsake(self):
        """Give up where the opened end has failed before this one has had an
        answer: its SYN, repeated, opens another connection."""
        with contextlib.suppress(OSError):
            self.sock.getpeername()
            return
        self.error = errno.ENOTCONN
        self.sock.close()

    def send(self):
        """Send a piece, or the FIN."""
        if self.reset_at is not None and self.sent >= self.reset_at:
            self.error = errno.ECONNABORTED
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                 struct.pack("ii", 1, 0))
            self.sock.close()
            return
        if self.sent == self.size:
            self.shut = True
            self.sock.shutdown(socket.SHUT_WR)
            return
        size = min(self.piece, self.size - self.sent)
        data = b"".join(pieces(self.offset + self.sent, size))
        urgent = self.urgent and self.rnd.random() < .1
        self.sent += self.sock.send(data, socket.MSG_OOB if urgent else 0)

    def receive(self):
        """Compare received payload with the payload of the other end."""
        data = self.sock.recv(1 << 16)
        if not data:
            self.eof = True
            if not self.peer.shut or self.received != self.peer.size:
                raise Fatal(f"a clean end after {self.received} bytes; the "
                            f"other end: {self.peer}")
            return
        wanted = b"".join(pieces(self.peer.offset + self.received, len(data)))
        if data != wanted or self.received + len(data) > self.peer.sent:
            raise Fatal(f"payload differs: of {len(data)} bytes behind "
                        f"{self.received} "
                        f"{difference(data, self.peer.offset + self.received)}"
                        f"; the other end: {self.peer}")
        self.received += len(data)
        if self.stalls and self.rnd.random() < .05:
            self.deaf_until = time.monotonic() + self.rnd.uniform(.1, 8)

    def step(self, events):
        """Receive and send as far as possible."""
        if events & ~select.POLLOUT and not self.eof:
            self.attempt(self.receive)
        if not self.error and not self.shut:
            self.attempt(self.send)

    def attempt(self, function):
        """Call a function, and record an error that breaks the connection."""
        try:
            function()
        except BlockingIOError:
            # poll() reports a socket as writable even when TCP has no memory
            # for it, and simulated time stands still while a loop computes
            time.sleep(.01)
        except OSError as err:
            if err.errno not in BROKEN:
                raise
            self.error = err.errno

    def __str__(self):
        return (f"sent {self.sent} of {self.size}, shut {self.shut}, received "
                f"{self.received}, eof {self.eof}, error "
                f"{errno.errorcode.get(self.error, self.error)}")


def sockets(port):
    """The sockets of a listener's connections, and the connections."""
    for ns in "sub", "pep", "srv":
        yield f"\n{ns}: " + run("ss", "-Hatnoim", "sport", f"= :{port}", "or",
                                "dport", f"= :{port}", ns=ns).stdout
    yield pep.pepadm("conn", "show", check=False).stdout


def known(far, near, token, readable):
    """Is a socket the other end of the one that sends a token or, without a
    token, of the one with its unique address?"""
    with contextlib.suppress(OSError):
        if token:
            return readable and far.recv(len(token)) == token
        return far.getpeername()[:2] == near.getsockname()[:2]
    return False


class Talker:
    """Opens connections one after the other."""

    def __init__(self, life, number, rnd):
        self.life, self.number, self.rnd = life, number, rnd
        self.port = PORTS + number
        self.listeners = {}
        for ns in "sub", "srv":
            for family in 4, 6:
                with Within(ns):
                    sock = socket.socket(FAMILIES[family])
                sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                if family == 6:
                    sock.setsockopt(socket.IPPROTO_IPV6,
                                    socket.IPV6_V6ONLY, 1)
                sock.bind(("", self.port))
                sock.listen(64)
                sock.setblocking(False)
                self.listeners[ns, family] = sock

    def close(self):
        """Close the listeners."""
        for sock in self.listeners.values():
            sock.close()

    def drain(self):
        """Close connections of openers that have given up."""
        for sock in self.listeners.values():
            with contextlib.suppress(OSError):
                while True:
                    sock.accept()[0].close()

    def open(self, opener, opened, family):
        """Begin a connection: (socket, token that identifies it to the other
        end), because its address and port may have been used before."""
        with Within(opener):
            near = socket.socket(FAMILIES[family])
        if self.rnd.random() < .3:
            size = self.rnd.choice((2304, 8192, 65536, 1 << 20))
            near.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, size)
        token = b""
        if self.rnd.random() < .5:
            token = self.rnd.randbytes(8)
            near.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            near.bind(("", OPENERS + 4 * self.number + self.rnd.randrange(4)))
        near.setblocking(False)
        near.connect_ex((addr(opened, family), self.port))
        return near, token

    def connect(self, opener, opened, family):
        """A connection, or None: (near, far)."""
        until = time.monotonic() + CONNECT
        self.drain()
        near, token = self.open(opener, opened, family)
        listener, far, told = self.listeners[opened, family], [], not token
        while time.monotonic() < until and not near.getsockopt(
                socket.SOL_SOCKET, socket.SO_ERROR):
            ready = select.select([listener, *far], [] if told else [near], [],
                                  .2)
            try:
                if listener in ready[0]:
                    far.append(listener.accept()[0])
                if near in ready[1]:
                    near.send(token)
                    told = True
            except BlockingIOError:
                time.sleep(.01)
            for sock in list(far):
                if known(sock, near, token, sock in ready[0]):
                    return near, sock
                if sock in ready[0]:
                    sock.close()
                    far.remove(sock)
        for sock in (near, *far):
            sock.close()
        return None

    def talk(self):
        """One connection, from its beginning to its end."""
        rnd = self.rnd
        family = rnd.choice((4, 6))
        ends = rnd.choice((("sub", "srv"), ("sub", "srv"), ("srv", "sub")))
        try:
            both = self.connect(*ends, family)
        except OSError as err:
            if err.errno not in BROKEN | {errno.EADDRINUSE,
                                          errno.EADDRNOTAVAIL, errno.ENOBUFS,
                                          errno.EINVAL}:
                raise
            both = None
        if not both:
            self.life.count["not connected"] += 1
            time.sleep(rnd.uniform(.05, .5))
            return
        sizes = [0 if rnd.random() < .15 else
                 env.amount(int(2 ** rnd.uniform(3, 21))) for _ in both]
        parties = [Party(sock, size, rnd) for sock, size in zip(both, sizes)]
        for party, peer in zip(parties, parties[::-1]):
            party.peer = peer
        port = both[0].getsockname()[1]
        self.life.did(f"{ends} IPv{family} {port}")
        try:
            self.pump(parties)
        except Fatal as what:
            self.life.did(*(f"\n{line}" for line in
                            self.life.trace.about(port)[-LAST:]))
            self.life.did(*sockets(self.port))
            raise Fatal(f"{ends} IPv{family} {port}: {what}") from what
        for party in parties:
            party.sock.close()
        whole = not any(party.error for party in parties)
        self.life.count["whole" if whole else "broken"] += 1
        self.life.count["bytes"] += sum(p.received for p in parties)

    def pump(self, parties):
        """Run until both ends have finished."""
        before, since = None, 0
        while not all(party.done for party in parties):
            now = [(party.received, party.done) for party in parties]
            if now != before:
                before, since = now, time.monotonic()
            if time.monotonic() > since + HANG:
                self.life.stuck = since
                raise Fatal("it hangs: " + "; ".join(map(str, parties)))
            poll = select.poll()
            for party in parties:
                if not party.done:
                    poll.register(party.sock, party.events)
            by_fd = {party.sock.fileno(): party for party in parties
                     if not party.done}
            for fd, events in poll.poll(200):
                by_fd[fd].step(events)
            near, far = parties
            if far.error and not near.error:
                near.forsake()
            self.drain()

    def live(self):
        """Run until the end of the load."""
        while self.life.goes_on():
            self.talk()


class Network:
    """Links whose quality varies and that go down and up; routes, too. One
    link corrupts packets: the checksum shows any bit that has changed, but
    not every two of the same packet."""

    def __init__(self, life, rnd):
        self.life, self.rnd = life, rnd
        self.corrupts = rnd.choice((WIRELESS, SERVER))

    def impair(self):
        """Impair one direction of a link, or end its impairment."""
        rnd = self.rnd
        ns, dev = rnd.choice(WIRELESS + SERVER)
        words = []
        if rnd.random() < .5:
            words += ["loss", f"{rnd.uniform(0, 8):.1f}%"]
        if rnd.random() < .6:
            words += ["delay", f"{rnd.randrange(1, 60)}ms",
                      f"{rnd.randrange(0, 10)}ms"]
            if rnd.random() < .3:
                words += ["reorder", f"{rnd.randrange(1, 30)}%"]
        if rnd.random() < .3:
            words += ["duplicate", f"{rnd.uniform(0, 5):.1f}%"]
        if rnd.random() < .4 and (ns, dev) in self.corrupts:
            words += ["corrupt", "0.5%"]
        if rnd.random() < .3:
            words += ["rate", f"{rnd.randrange(2, 40)}mbit"]
        self.life.did("netem", ns, dev, *words)
        if words:
            netem(ns, dev, *words)
        else:
            netem_end(ns, dev)

    def mtu(self):
        """Set the MTU of both ends of a link."""
        size = self.rnd.choice((1280, 1400, 1500))
        link = self.rnd.choice((WIRELESS, SERVER))
        self.life.did("mtu", link, size)
        for ns, dev in link:
            ip(ns, f"link set {dev} mtu {size}")

    def flap(self):
        """Set a device of the gateway down for a short time."""
        dev = self.rnd.choice(("wl0", "sv0"))
        self.life.did("flap", dev)
        ip("pep", f"link set {dev} down")
        time.sleep(self.rnd.uniform(.05, 2))
        ip("pep", f"link set {dev} up")

    def route(self):
        """Remove the gateway's route to an end for a short time. While netem
        delays packets that TCP wants to repeat, and new ones have no route,
        TCP tries again at once, and simulated time stands still."""
        family = self.rnd.choice((4, 6))
        ns, dev = self.rnd.choice((("sub", "wl0"), ("srv", "sv0")))
        end = addr(ns, family)
        kind = self.rnd.choice(("blackhole", "unreachable"))
        self.life.did("route", kind, end)
        netem_end("pep", dev)
        ip("pep", f"route add {kind} {end}", family=family)
        time.sleep(self.rnd.uniform(.05, 2))
        ip("pep", f"route del {kind} {end}", family=family)

    def detour(self):
        """Let the packets of one end, or of both, bypass the gateway for some
        seconds."""
        family = self.rnd.choice((4, 6))
        ends = self.rnd.choice((("sub",), ("srv",), ("sub", "srv")))
        self.life.did("detour", family, *ends)
        with contextlib.ExitStack() as stack:
            for ns in ends:
                stack.enter_context(bypass.around(family, ns))
            time.sleep(self.rnd.uniform(.05, 8))

    def live(self):
        """Run until the end of the load."""
        acts = [self.impair] * 8 + [self.mtu]
        if not self.life.early:
            acts += [self.flap, self.route, self.detour]
        while self.life.goes_on():
            self.rnd.choice(acts)()
            time.sleep(self.rnd.uniform(.1, 4))


class Administration:
    """All actions of an operator."""

    def __init__(self, life, rnd):
        self.life, self.rnd = life, rnd

    def pepadm(self, *words, ns="pep"):
        """Run pepadm, which may fail but not crash."""
        self.life.did("pepadm", *words)
        done = pep.pepadm(*map(str, words), ns=ns, check=False)
        if done.returncode not in (0, 1):
            raise Failure(f"pepadm {words}: exit code {done.returncode}: "
                          f"{done.stderr}")
        return done

    def must(self, *words, ns="pep"):
        """Run pepadm, which may not fail."""
        self.life.did("pepadm", *words)
        pep.pepadm(*map(str, words), ns=ns)

    def attach(self, dev, side, ns="pep"):
        """Attach a device."""
        self.must("dev", "add", dev, "side", side, ns=ns)

    def profile(self):
        """Change settings of the default profile."""
        rnd = self.rnd
        words = []
        for one in OPTIONS:
            values = [value for value in one.life
                      if value != "early" or self.life.early]
            if values and rnd.random() < .3:
                words += [one.word, rnd.choice(values)]
        if words:
            self.pepadm("profile", "set", "default", *words)

    def device(self):
        """Detach a device and attach it again."""
        dev, side = self.rnd.choice(DEVICES)
        self.must("dev", "del", dev)
        time.sleep(self.rnd.uniform(0, 2))
        self.attach(dev, side)

    def filters(self):
        """Delete the filters of a device with tc and attach it again."""
        dev, side = self.rnd.choice(DEVICES)
        self.life.did("tc filter del", dev)
        run("tc", "-n", "pep", "filter", "del", "dev", dev, "ingress",
            check=False)
        time.sleep(self.rnd.uniform(0, 1))
        self.attach(dev, side)

    def drain(self):
        """Leave new connections unsplit for some time."""
        self.pepadm("drain", self.rnd.choice(("on", "release")))
        time.sleep(self.rnd.uniform(0, 3))
        self.must("drain", "off")

    def release(self):
        """Hand all flows back."""
        self.pepadm("flow", "release", "all")

    def kill(self):
        """Kill some flows."""
        self.pepadm("flow", "kill", "subscriber-port",
                    OPENERS + self.rnd.randrange(40))

    def legs(self):
        """Destroy sockets of flows."""
        port = PORTS + self.rnd.randrange(self.life.talkers)
        self.life.did("ss -K", port)
        run("ss", "-K", "dport", f"= :{port}", ns="pep", check=False)

    def save(self):
        """Save connections and restore them."""
        done = self.pepadm("flow", "save", "-")
        self.life.did("flow restore")
        pep.pepadm("flow", "restore", "-", stdin=done.stdout, check=False)

    def look(self):
        """Read everything that can be displayed."""
        for words in (("flow", "show"), ("conn", "show"), ("stat", "show"),
                      ("path", "show"), ("limit", "show", "top"),
                      ("stat", "residence"), ("stat", "gain"),
                      ("profile", "show"), ("stat", "show", "percpu")):
            self.pepadm(*words)

    def limits(self):
        """Set low limits for some time."""
        rnd = self.rnd
        before = json.loads(pep.pepadm("-j", "limit", "show").stdout)
        self.pepadm("limit", "set", "flows", rnd.randrange(4, 20),
                    "subscriber-flows", rnd.randrange(2, 20),
                    "subscriber-rate", rnd.randrange(1, 50),
                    "subscriber-memory", rnd.choice((65536, 1 << 20)))
        time.sleep(rnd.uniform(0, 4))
        self.must("limit", "set", *(word for key in (
            "flows", "subscriber_flows", "subscriber_rate",
            "subscriber_memory") for word in (key.replace("_", "-"),
                                              before[key])))

    def paths(self):
        """Flush the knowledge about links."""
        self.pepadm("path", "flush", "all")

    def pressure(self):
        """Make TCP short of memory for some time."""
        self.life.did("pressure")
        with pep.pressure():
            time.sleep(self.rnd.uniform(0, 2))

    def reload(self):
        """Unload the module, with all flows handed back or reset, and load it
        again; connections may be saved and restored."""
        self.life.did("reload")
        saved = self.pepadm("flow", "save", "-") \
            if self.rnd.random() < .5 else None
        for dev in pep.devices():
            self.must("dev", "del", dev)
        self.life.trace.harvest()
        pep.unload()
        pep.load()
        self.life.trace.start()
        if saved:
            pep.pepadm("flow", "restore", "-", stdin=saved.stdout,
                       check=False)
        self.profile()
        for dev, side in DEVICES:
            self.attach(dev, side)

    def namespace(self):
        """Create another gateway with connections and delete it with them."""
        self.life.did("namespace")
        topology_up("A")
        for dev, side in DEVICES:
            self.attach(dev, side, "pepA")
        self.must("profile", "set", "default", "split", "handshake",
                  ns="pepA")
        with Within("srvA"):
            listener = socket.socket()
        listener.bind(("", PORTS))
        listener.listen()
        socks = []
        for _ in range(5):
            with Within("subA"):
                near = socket.socket()
            near.settimeout(5)
            with contextlib.suppress(OSError):
                near.connect((addr("srv", 4), PORTS))
                far, _ = listener.accept()
                near.send(bytes(1000))
                far.send(bytes(1000))
                socks.append(far)
            socks.append(near)
        names = ["subA", "pepA", "srvA"]
        self.rnd.shuffle(names)
        for name in names:
            spaces_down(name)
            time.sleep(self.rnd.uniform(0, .2))
        for sock in socks:
            sock.close()
        listener.close()

    def live(self):
        """Run until the end of the load."""
        acts = ([self.profile] * 6 + [self.release, self.kill, self.look] * 2 +
                [self.device, self.filters, self.drain, self.legs, self.save,
                 self.limits, self.paths, self.pressure, self.reload,
                 self.namespace])
        while self.life.goes_on():
            self.rnd.choice(acts)()
            time.sleep(self.rnd.uniform(.05, 2))


class Trace:
    """Trace events of connections and their sockets."""

    EVENTS = ("sock/inet_sock_set_state", "tcp/tcp_send_reset",
              "pep/pep_state", "pep/pep_stage", "pep/pep_close",
              "pep/pep_connect", "pep/pep_syn", "pep/pep_accept")
    KIB = 60000

    def __init__(self):
        self.lines = []
        debugfs.write("tracing/trace_clock", "mono")
        debugfs.write("tracing/buffer_size_kb", self.KIB)

    def start(self):
        """Enable the events, also after the module was reloaded."""
        for event in self.EVENTS:
            with contextlib.suppress(FileNotFoundError):
                debugfs.write(f"tracing/events/{event}/enable", 1)

    def harvest(self):
        """Read the trace, before the module is unloaded."""
        text = debugfs.read("tracing/trace")
        debugfs.write("tracing/trace", "")
        self.lines += [line for line in text.splitlines()
                       if not line.startswith("#")]

    def about(self, port):
        """Lines with the port of a connection."""
        self.harvest()
        return [line for line in self.lines if f":{port} " in line or
                f"port={port} " in line]


class Life:
    """All parts for some time. With odd seeds openers may be answered early.
    An unreachable end may miss the kill of such a flow, and one kernel
    generates the initial sequence numbers of all hosts: those of the server
    and of the gateway differ by the time between them, and so would fit.
    Therefore odd seeds have no outages."""

    administration = Administration

    def __init__(self, seed, seconds, talkers):
        self.talkers = talkers
        self.seconds = seconds
        self.early = bool(seed % 2)
        self.until = None
        self.failure = None
        self.count = collections.Counter()
        self.deeds = []
        self.trace = Trace()
        self.stuck = None
        self.begun = time.monotonic()
        self.parts = [Talker(self, i, random.Random(f"{seed} talker {i}"))
                      for i in range(talkers)]
        self.world = [Network(self, random.Random(f"{seed} network")),
                      self.administration(
                          self, random.Random(f"{seed} admin"))]

    def did(self, *words):
        """Record an action."""
        self.deeds.append((time.monotonic(), " ".join(map(str, words))))

    def story(self):
        """Lines with the last actions, and those around a hang."""
        for number, (when, deed) in enumerate(self.deeds):
            if number >= len(self.deeds) - LAST or (
                    self.stuck and abs(when - self.stuck) < AROUND):
                yield f"{when - self.begun:.2f} {deed}"

    def goes_on(self):
        """Does the load go on?"""
        return not self.failure and time.monotonic() < self.until

    def guard(self, part):
        """Run a part and keep its failure."""
        try:
            part.live()
        except Exception as what:       # pylint: disable=broad-except
            self.did("failure", repr(what))
            self.failure = self.failure or what

    def heal(self):
        """Restore the network and the gateway."""
        for ns, dev in WIRELESS + SERVER:
            netem_end(ns, dev)
            ip(ns, f"link set {dev} up mtu 1500")
        if "pepA" in spaces():
            spaces_down("subA", "pepA", "srvA")

    def run(self):
        """Run all parts to their end; raise the first failure."""
        sysctl("pep", *GIVES_UP, *(
            f"net.ipv6.conf.{dev}.keep_addr_on_down=1"
            for dev in ("wl0", "sv0")))
        self.trace.start()
        self.until = time.monotonic() + self.seconds
        world = [threading.Thread(target=self.guard, args=(part,), daemon=True)
                 for part in self.world]
        talk = [threading.Thread(target=self.guard, args=(part,), daemon=True)
                for part in self.parts]
        for thread in world + talk:
            thread.start()
        for thread in world:
            thread.join(self.seconds + 120)
        if any(thread.is_alive() for thread in world):
            raise Failure(f"administration hangs: {self.deeds[-1]}")
        self.heal()
        for thread in talk:
            thread.join(SLOWLY)
        if any(thread.is_alive() for thread in talk):
            raise Failure(f"a connection takes longer than {SLOWLY} s")
        for part in self.parts:
            part.close()
        if self.failure:
            raise self.failure
        wait_for("all flows to end", lambda: not pep.stat("flows"), 2 * HANG)
