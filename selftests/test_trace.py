# SPDX-License-Identifier: GPL-2.0
"""Tracepoints report events in the right order and with the right names; each
script of tools/trace, run during traffic, agrees with the counters."""

import json
import os
import re
import subprocess

from peptest import env, pep, service
from peptest.ktap import (Failure, case, expect, expect_least, fail, families,
                          must, skip, wait_for)
from peptest.netns import (addr, netem, netem_end, nstat, run,
                           single_packets)
from peptest.pep import (flows_end, kept_pair, pepadm, split_pair,
                         split_start, spoken_for_pair, stats)
from peptest.tcp import (End, PORT, accept, client, connect_errno, exchange,
                         exchange_all, expect_reset, expect_same, fill, listen,
                         mptcp_socket, pair, pump, reset, start)

TRAITS = {"programs", "machine"}

TRACEFS = "/sys/kernel/tracing"
EVENTS = TRACEFS + "/events/pep"
BTF = "/sys/kernel/btf/vmlinux"
SCRIPTS = os.path.join(env.TOP, "tools/trace")
SECONDS = 100           # for a compiler under emulation
FIELD = re.compile(r"(\w+)=(\S+)")


def setup():
    """Make the events available."""
    pep.warmed()
    run("mount", "-t", "tracefs", "none", TRACEFS, check=False)


def need(path):
    """Skip if the kernel lacks a file, which only the debug kernels may."""
    if not os.path.exists(path):
        if env.DEBUG:
            skip(f"this kernel has no {path}")
        fail(f"no {path}")


def write(path, text):
    """Write to a file of tracefs."""
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


class Traced:
    """Traces events within the context; then holds (name, fields, text) of
    each, in their order."""

    def __init__(self, *names, only=""):
        self.names = names
        self.only = only
        self.events = []

    def __enter__(self):
        need(TRACEFS + "/events")
        write(TRACEFS + "/trace", "")
        for name in self.names:
            if self.only:
                write(f"{EVENTS}/{name}/filter", self.only)
            write(f"{EVENTS}/{name}/enable", "1")
        return self

    def __exit__(self, *_exc):
        flows_end()
        for name in self.names:
            write(f"{EVENTS}/{name}/enable", "0")
            write(f"{EVENTS}/{name}/filter", "0")
        with open(TRACEFS + "/trace", encoding="ascii") as file:
            for line in file:
                _, found, text = line.partition(": pep_")
                if found:
                    name, _, text = text.partition(": ")
                    self.events.append(("pep_" + name,
                                        dict(FIELD.findall(text)),
                                        text.strip()))

    def all(self, name):
        """The fields of the events of a name."""
        return [fields for found, fields, _ in self.events if found == name]

    def one(self, name):
        """The fields of the only event of a name."""
        found = self.all(name)
        must(f"number of {name}", len(found), 1)
        return found[0]


def port_of(both):
    """The subscriber's port of a connection that is used and ends."""
    port = both[0].getsockname()[1]
    exchange(both, 100)
    return port


def ends(family, sub_port):
    """The ends of a flow as printed."""
    form = "{}:{}" if family == 4 else "[{}]:{}"
    return (form.format(addr("sub", family), sub_port),
            form.format(addr("srv", family), PORT))


ALL = ("pep_syn", "pep_accept", "pep_connect", "pep_state", "pep_close",
       "pep_relay", "pep_residence")


def opened(traced, flow):
    """Check the opening of a flow whose opener was answered early."""
    results = [fields["result"] for fields in traced.all("pep_syn")]
    expect_least("results", len(results), 1)
    expect("reasons against it", [result for result in results
                                  if "_pass_" in result], [])
    expect("accepted", traced.one("pep_accept")["result"], "accepted")
    answer = traced.one("pep_connect")
    expect("connected", (answer["result"], answer["mode"], answer["side"],
                         int(answer["flow"])),
           ("answered", "early", "server", flow["id"]))
    if int(traced.one("pep_close")["age_ns"]) < int(answer["latency_ns"]):
        fail("it ended before it was answered")
    order = [name for name, _, _ in traced.events if name in
             ("pep_syn", "pep_connect", "pep_close")]
    expect("order", (order[0], order[-1]), ("pep_syn", "pep_close"))


@families("a flow's life", "follow")
@families("a flow's life, answered early", "early")
def life(family, mode):
    """All events of a flow, in their order. A followed connection is opened by
    its ends alone."""
    pepadm("profile", "set", "default", "connect", mode)
    try:
        before = stats()
        with Traced(*ALL) as traced:
            both = split_pair(family)
            port = both[0].getsockname()[1]
            flow, = pep.flows()
            exchange(both, 1000)
    finally:
        pepadm("profile", "set", "default", "connect", "follow")
    source, target = ends(family, port)
    for name in "pep_syn", "pep_accept", "pep_connect", "pep_close":
        for fields in traced.all(name):
            expect(f"ends in {name}", (fields["src"], fields["dst"]),
                   (source, target))
    if mode == "early":
        opened(traced, flow)
    else:
        expect("its SYN", traced.one("pep_syn")["result"], "follow_new")
        for name in "pep_accept", "pep_connect":
            expect(name, traced.all(name), [])
    closed = traced.one("pep_close")
    expect("closed", (closed["cause"], int(closed["flow"]), closed["mode"],
                      closed["bytes_to_wireless"], closed["bytes_to_server"]),
           ("flow_closed", flow["id"], mode, "1000", "1000"))
    states = [text.partition(" flow=")[2].partition(" ")[2]
              for name, _, text in traced.events if name == "pep_state"]
    expect("states", states, ["connecting -> established",
                              "established -> closing", "closing -> closing",
                              "closing -> dead"])
    for side, name in ("wireless", "bytes_to_wireless"), \
            ("server", "bytes_to_server"):
        expect(f"bytes relayed to {side}",
               sum(int(relay["taken"]) for relay in traced.all("pep_relay")
                   if relay["side"] == side), 1000)
        expect(f"growth of {name}", stats()[name] - before[name], 1000)


def stages(traced, family, port):
    """The stages of a connection with a port of the subscriber."""
    expect("ends", {(fields["src"], fields["dst"])
                    for fields in traced.all("pep_stage")},
           {ends(family, port)})
    return [text.partition(" dst=")[2].partition(" ")[2]
            for _, _, text in traced.events]


@families("stages of a connection that is followed")
def followed(family):
    """One that closes, one that is reset, and one that is split."""
    opening = ["opening -> answered", "answered -> followed"]
    pepadm("profile", "set", "default", "split", "never")
    try:
        with Traced("pep_stage") as traced:
            both = pair(family)
            port = both[0].getsockname()[1]
            exchange(both, 1000)
        expect("closed", stages(traced, family, port),
               opening + ["followed -> closing"])
        with Traced("pep_stage") as traced:
            both = pair(family)
            port = both[0].getsockname()[1]
            reset(both[0])
            expect_reset(both[1])
        expect("reset", stages(traced, family, port),
               opening + ["followed -> gone"])
    finally:
        pepadm("profile", "set", "default", "split", "handshake")
    with Traced("pep_stage") as traced:
        before = stats()["followed"]
        both = split_pair(family)
        port = both[0].getsockname()[1]
        exchange(both, 1000)
        flows_end()
        wait_for("its end", lambda: stats()["followed"] == before)
    expect("split", stages(traced, family, port),
           opening + ["followed -> split", "split -> gone"])


@families("a refused connection")
def refused(family):
    """No flow, no event except for its SYN."""
    with Traced(*ALL) as traced:
        expect("error", connect_errno("sub", family, addr("srv", family),
                                      port=PORT + 1), "ECONNREFUSED")
    expect("events", [(name, fields["result"])
                      for name, fields, _ in traced.events],
           [("pep_syn", "follow_new")])


def not_split(traced, family, ports, *reasons):
    """One event for each connection, with the counter of its reason."""
    expect("events", [(fields["src"], fields["dst"], fields["side"],
                       fields["result"])
                      for fields in traced.all("pep_unsplit")],
           [(*ends(family, port), "wireless", f"split_pass_{reason}")
            for port, reason in zip(ports, reasons)])


@families("connections that are not split")
def unsplit(family):
    """Too short, with an option, by a limit, and one whose legs cannot be
    made."""
    pep.follow("12000")
    with Traced("pep_unsplit") as traced:
        ports = [port_of(pair(family))]
    not_split(traced, family, ports, "end")
    pep.follow("handshake")
    flows_end()
    with Traced("pep_unsplit") as traced:
        listener = listen("srv", family)
        near = mptcp_socket("sub", family)
        near.connect((addr("srv", family), PORT))
        ports = [port_of((near, accept(listener)))]
        pepadm("drain", "on")
        try:
            ports.append(port_of(kept_pair(family, "split_pass_drain")))
        finally:
            pepadm("drain", "off")
        ports.append(port_of(spoken_for_pair(family)))
    not_split(traced, family, ports, "option", "drain", "in_use")


def reset_early(family):
    """A connection that is answered early and then refused, perhaps before
    connect() returns."""
    sock = client("sub", family)
    try:
        sock.connect((addr("srv", family), PORT + 1))
    except ConnectionResetError:
        return
    expect_reset(sock)


@families("a refused connection, answered early")
def refused_early(family):
    """Result and cause are the name of the cause's counter."""
    pepadm("profile", "set", "default", "connect", "early")
    try:
        with Traced("pep_connect", "pep_close", "pep_state") as traced:
            reset_early(family)
    finally:
        pepadm("profile", "set", "default", "connect", "follow")
    expect("result", traced.one("pep_connect")["result"], "connect_refused")
    expect("cause", traced.one("pep_close")["cause"], "connect_refused")


@families("verdicts on packets")
def verdicts(family):
    """Each packet has one, which agrees with the counters; packets before the
    event is enabled, or after it is disabled, are not TCP."""
    with Traced("pep_steer") as traced:
        before = stats()
        exchange(split_pair(family), 1000)
        pepadm("drain", "on")
        try:
            exchange(pair(family), 1000)
        finally:
            pepadm("drain", "off")
        flows_end()
        after = stats()
    grown = {name: value - before[name] for name, value in after.items()}
    found = {}
    for fields in traced.all("pep_steer"):
        verdict = fields["verdict"]
        found[verdict] = found.get(verdict, 0) + 1
    taken = found.pop("taken")
    for name in "pass_syn", "pass_followed":
        expect(name, found[name], grown[name])
    for name in found:
        if not name.startswith("pass_"):
            fail(f"a verdict is {name}")
    expect("packets taken", taken, grown["delivered"])
    expect_least("packets that passed", sum(found.values()), 10)


@case("a filter on a field")
def filtered():
    """Only matching events are recorded."""
    with Traced("pep_steer", only='verdict == "pass_syn"') as traced:
        exchange(split_pair(4), 100)
    expect("verdict", traced.one("pep_steer")["verdict"], "pass_syn")


class Child:
    """A program that runs during the test; its output goes to a file."""

    def __init__(self, *argv):
        self.log = service.path("log")
        with open(self.log, "wb") as out:
            self.process = subprocess.Popen(argv, stdout=out, stderr=out,
                                            cwd=service.folder())

    def text(self):
        """Its output so far."""
        with open(self.log, encoding="utf-8") as file:
            return file.read()

    def wait_for(self, what, test):
        """Wait for an effect of the program."""
        wait_for(what, lambda: self.process.poll() is not None or test(),
                 SECONDS)
        if self.process.poll() is not None:
            raise Failure(f"it has ended: {self.text()}")

    def kill(self):
        """Kill the program if it is running."""
        self.process.kill()
        self.process.wait()

    def end(self):
        """Wait for its end; return its output."""
        code = self.process.wait(SECONDS)
        if code:
            raise Failure(f"exit code {code}: {self.text()}")
        return self.text()


class Script:
    """A bpftrace script, attached within the context; then holds its results,
    by the names of the maps."""

    def __init__(self, name):
        self.name = name
        self.maps = {}
        self.child = None

    def __enter__(self):
        need(BTF)
        shell, done = service.path("wait.sh"), service.path("done")
        os.mkfifo(done)
        # bpftrace starts the command once all its probes are attached.
        service.write("wait.sh", f": > $0.ready\nread x < {done}\n")
        self.child = Child("bpftrace", "-f", "json", "-c", f"/bin/sh {shell}",
                           os.path.join(SCRIPTS, self.name))
        self.child.wait_for("the script",
                            lambda: os.path.exists(shell + ".ready"))
        return self

    def __exit__(self, kind, *_exc):
        try:
            if kind:
                return
            flows_end()
            service.write("done", "\n")
            text = self.child.end()
        finally:
            self.child.kill()
            service.services_down()
        for line in text.splitlines():
            if not line.startswith("{"):
                continue
            told = json.loads(line)
            if told["type"] in ("map", "hist", "stats"):
                self.maps.update(told["data"])

    def total(self, name):
        """Number of samples in a histogram."""
        return sum(bucket["count"] for bucket in self.maps.get(name, []))


FLOWS = 5


@case("connect-latency.bt", seconds=300)
def connect_latency():
    """One per flow whose opener was answered early; refusals count apart."""
    with Script("connect-latency.bt") as script:
        exchange_all(split_start(4, FLOWS), 100)
        pepadm("profile", "set", "default", "connect", "early")
        try:
            for family in 4, 6:
                exchange_all(start(family, FLOWS), 100)
                reset_early(family)
        finally:
            pepadm("profile", "set", "default", "connect", "follow")
    expect("maps", sorted(script.maps), ["@early_us", "@failed"])
    expect("early", script.total("@early_us"), 2 * FLOWS)
    expect("failed", script.maps["@failed"], {"connect_refused": 2})


def samples():
    """Samples of residence so far, by side."""
    told = json.loads(pepadm("-j", "stat", "residence").stdout)
    return {side: told[side]["residence"]["samples"]
            for side in ("wireless", "server")}


@case("residence.bt", seconds=300)
def residence():
    """As many samples as in the counters."""
    before = samples()
    with Script("residence.bt") as script:
        for family in 4, 6:
            exchange(split_pair(family), 3000000)
    after = samples()
    for side in "wireless", "server":
        expect(f"samples to {side}", script.total(f"@to_{side}_us"),
               after[side] - before[side])
        expect_least(f"samples to {side}", after[side] - before[side], 1)


@case("relay-batch.bt", seconds=300)
def relay_batch():
    """Calls and copied bytes as in the counters; small messages are copied."""
    before = stats()
    with Script("relay-batch.bt") as script:
        for family in 4, 6:
            exchange(split_pair(family), 1000000)
            exchange(split_pair(family), 100)
    after = stats()
    sends = after["relay_send"] - before["relay_send"]
    expect("calls", script.total("@bytes"), sends)
    expect("calls by fragments", script.total("@fragments"), sends)
    copied = after["bytes_copied"] - before["bytes_copied"]
    expect_least("copied", copied, 2 * 100)
    expect("copied", script.maps.get("@copied_bytes", 0), copied)


@case("syn-reasons.bt", seconds=300)
def syn_reasons():
    """SYNs that pass, by their reason: those of Multipath TCP, and those that
    would be answered early without draining. All are followed, and not split
    for a reason."""
    before = stats()
    pepadm("profile", "set", "default", "connect", "early")
    try:
        with Script("syn-reasons.bt") as script:
            listener = listen("srv", 4)
            near = mptcp_socket("sub", 4)
            near.connect((addr("srv", 4), PORT))
            accept(listener).close()
            near.close()
            pepadm("drain", "on")
            exchange_all(start(6, FLOWS), 100)
    finally:
        pepadm("drain", "off")
        pepadm("profile", "set", "default", "connect", "follow")
    expect("verdicts", script.maps["@syns"],
           {f"syn_pass_mptcp,{PORT}": 1, f"follow_new,{PORT}": FLOWS + 1})
    expect("connections that are not split", script.maps["@unsplit"],
           {f"{name},{PORT}": number - before[name]
            for name, number in stats().items()
            if name.startswith("split_pass_") and number > before[name]})
    expect_least("reasons", len(script.maps["@unsplit"]), 2)


@case("legs.bt", seconds=300)
def legs():
    """Ends by cause, a round trip time of each leg, retransmissions."""
    again = nstat("pep", "TcpRetransSegs")
    single_packets("pep", "wl0")
    netem("pep", "wl0", "loss", "random", "10%")
    try:
        with Script("legs.bt") as script:
            for family in 4, 6:
                # After losses in the handshake more packets trigger a split.
                exchange_all(start(family, FLOWS), 60000)
    finally:
        netem_end("pep", "wl0")
    again = nstat("pep", "TcpRetransSegs") - again
    expect("causes", script.maps["@flows"], {"flow_closed": 2 * FLOWS})
    for side in "wireless", "server":
        expect(f"round trip times of {side}",
               script.total(f"@{side}_srtt_us"), 2 * FLOWS)
    told = [script.maps[f"@{side}_retrans"] for side in ("wireless", "server")]
    expect_least("sent again", told[0], 1)
    expect("sent again by both", sum(told), again)


@case("stalls.bt", seconds=300)
def stalls():
    """An end that reads nothing for a while."""
    with Script("stalls.bt") as script:
        for family in 4, 6:
            near, far = split_pair(family)
            two = End(near, 1 << 26, fin=False, wanted=0), End(far, 0,
                                                               fin=False)
            fill(two[:1])
            two[0].size = two[1].wanted = two[0].sent
            pump(two)
            expect_same(*two)
            near.close()
            far.close()
    expect_least("stalls", script.total("@to_server_us"), 2)
    expect("stalls the other way", script.total("@to_wireless_us"), 0)
    if "@since" in script.maps:
        fail("stalls are left over")


@case("lock-wait.bt", seconds=300)
def lock_wait():
    """Every run of a flow is measured."""
    with Script("lock-wait.bt") as script:
        exchange_all(split_start(4, FLOWS), 100000)
    expect_least("runs", script.maps["@runs"], FLOWS)
    expect_least("ns", script.maps["@run_total_ns"], script.maps["@runs"])


@case("record.sh", seconds=300)
def record():
    """Recordings of trace-cmd can be displayed and searched."""
    need(TRACEFS + "/events")
    service.write("traffic.sh", "#!/bin/sh\n: > $0.ready\nread x < $0.done\n")
    shell = service.path("traffic.sh")
    os.chmod(shell, 0o755)
    os.mkfifo(shell + ".done")
    file = service.path("trace.dat")
    child = Child(os.path.join(SCRIPTS, "record.sh"), file, shell)
    child.wait_for("trace-cmd", lambda: os.path.exists(shell + ".ready"))
    both = split_pair(6)
    source, target = ends(6, both[0].getsockname()[1])
    flow, = pep.flows()
    exchange(both, 1000)
    flows_end()
    service.write("traffic.sh.done", "\n")
    child.end()
    shown = run("trace-cmd", "report", "-i", file, "-F",
                f"pep:flow == {flow['id']}", seconds=SECONDS).stdout
    closed, = [line for line in shown.splitlines() if "pep_close:" in line]
    for text in f"src={source}", f"dst={target}", "cause=flow_closed":
        if text not in closed:
            fail(f"no {text} in {closed}")
    expect("how it came up", shown.count("connecting -> established"), 1)
    service.services_down()
    code = subprocess.run([os.path.join(SCRIPTS, "record.sh")], check=False,
                          capture_output=True, text=True)
    expect("without a file", (code.returncode, code.stderr),
           (2, "record: a file is missing (usage: record.sh FILE "
            "[COMMAND...])\n"))


@case("BTF of the module", seconds=300)
def btf():
    """The built module has BTF; it can be added to a module without, the
    kernel accepts it, and the types are present."""
    need(BTF)
    need("/sys/kernel/btf/pep")
    if env.KERNEL == "next" and run("pahole", "--version").stdout.strip() == \
            "v1.24":
        skip("7.3 takes no BTF made by pahole 1.24")
    module = service.path("pep.ko")
    run("objcopy", "--remove-section", ".BTF", env.KO, module)
    script = os.path.join(SCRIPTS, "add-btf.sh")
    run(script, module, seconds=SECONDS)
    pep.detach()
    pep.unload()
    run("insmod", module)
    try:
        types = run("pahole", "--btf_base", BTF, "-C", "pep_flow",
                    "/sys/kernel/btf/pep", seconds=SECONDS).stdout
    finally:
        pep.unload()
        pep.load()
        pep.attach()
    if "struct pep_flow {" not in types or "struct pep_tuple" not in types:
        fail(f"struct pep_flow is {types!r}")
    service.services_down()
    code = subprocess.run([script], check=False, capture_output=True,
                          text=True)
    expect("without a module", (code.returncode, code.stderr),
           (2, "add-btf: a module is missing (usage: add-btf.sh MODULE)\n"))
