# SPDX-License-Identifier: GPL-2.0
"""A subscriber's receive window, and a flow's life by tracepoints."""

import dataclasses
import json
import re
import socket
import struct
import time

from peptest import debugfs, pep
from peptest.netns import addr, ip
from proxies import PROXIES
from runs import Runner
from world import World

TCP_INFO_RCV_WND = 232      # offset in struct tcp_info, 32 bits
WINDOW_BYTES = 2_000_000    # that are received while the window is traced
LARGE = 4000                # segments of an initial window that needs no ACK
SEGMENT = 1448
STEP = 0.01                 # s between two samples of the link's queue
PROBE = re.compile(
    r"(?P<t>\d+\.\d+): tcp_probe: .*src=(?P<src>\S+) dest=(?P<dest>\S+) .*"
    r"data_len=(?P<data>\d+) snd_nxt=(?P<nxt>\S+) snd_una=(?P<una>\S+) "
    r"snd_cwnd=(?P<cwnd>\d+) .*sock_cookie=(?P<cookie>[0-9a-f]+)")


def window(link):
    """Pairs of bytes received and the right edge that a subscriber offers
    then, when the server sends everything at once."""
    clean = dataclasses.replace(link, loss=0, jitter=0, late=0, trace="",
                                handover=0, queue=1000)
    world = World(clean)
    found = []

    def watch(client):
        info = client.sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
        offered = struct.unpack_from("I", info, TCP_INFO_RCV_WND)[0]
        edge = client.got + offered
        if not found or edge > found[-1][1]:
            found.append((client.got, edge))

    try:
        ip("srv", f"route replace default via {addr('sv', link.family)} "
           f"initcwnd {LARGE}", family=link.family)
        runner = Runner(world, "cubic", 1)
        runner.who += 1
        client = runner.client([WINDOW_BYTES])
        client.watch = watch
        runner.loop.run(done=lambda: client.last)
        runner.close()
    finally:
        world.end()
    return [(0, found[0][1] - found[0][0])] + found


def timeline(link, task, seed):
    """The life of one flow through pep: congestion window, bytes in flight,
    the link's queue and payload waiting in pep, bytes over seconds."""
    world = World(link)
    try:
        with PROXIES["pep"]():
            runner = Runner(world, "pep", seed)
            runner.who += 1
            runner.begin(task, 0)
            queue, cookies, begun = _watch(runner, task)
            runner.close()
    finally:
        world.end()
    found = _legs(debugfs.read("tracing/trace"), cookies, begun)
    return {"link": link.name, "work": task.name, "contestant": "pep",
            "link_queue": queue, **found}


def _watch(runner, task):
    """Load an object while tcp_probe is traced and the queue is sampled;
    return the queue, the cookies of both legs and the time of the start."""
    debugfs.write("tracing/trace_clock", "mono")
    debugfs.write("tracing/buffer_size_kb", 20000)
    debugfs.write("tracing/trace", "")
    debugfs.write("tracing/events/tcp/tcp_probe/enable", 1)
    begun = time.monotonic()
    queue = {"t": [], "bytes": []}
    cookies = {}

    def look():
        queue["t"].append(round(time.monotonic() - begun, 4))
        queue["bytes"].append(round(runner.world.queued()))
        if len(queue["t"]) % 4 == 0 and len(cookies) < 2:
            cookies.update(_cookies())
        runner.loop.after(STEP, look)

    look()
    client = runner.client([task.size])
    runner.loop.run(done=lambda: client.last)
    debugfs.write("tracing/events/tcp/tcp_probe/enable", 0)
    return queue, cookies, begun


def _cookies():
    """The cookie of each leg of the gateway's flow, by side, if it is up."""
    for flow in json.loads(pep.pepadm("-j", "-d", "flow", "show").stdout):
        return {side: leg["cookie"] for side, leg in flow["legs"].items()}
    return {}


def _legs(text, cookies, begun):
    """The trace's events of the sockets that send down, and of the leg that
    receives from the server."""
    found = {name: {"t": [], "cwnd": [], "flight": []}
             for name in ("wireless", "server")}
    waiting = {"t": [], "bytes": []}
    first, received, passed = None, 0, 0
    for event in PROBE.finditer(text):
        now = round(float(event["t"]) - begun, 4)
        una, nxt = int(event["una"], 0), int(event["nxt"], 0)
        cookie = int(event["cookie"], 16)
        if cookie == cookies.get("server"):
            received += int(event["data"])
        elif cookie == cookies.get("wireless"):
            first = una if first is None else first
            passed = (nxt - first) % (1 << 32)
            _point(found["wireless"], now, event, nxt - una)
        elif ":8000" in event["src"]:
            _point(found["server"], now, event, nxt - una)
            continue
        else:
            continue
        waiting["t"].append(now)
        waiting["bytes"].append(max(received - passed, 0))
    return {**found, "waiting": waiting}


def _point(line, now, event, flight):
    """Add an event of a sender to its line."""
    line["t"].append(now)
    line["cwnd"].append(int(event["cwnd"]) * SEGMENT)
    line["flight"].append(flight % (1 << 32))
