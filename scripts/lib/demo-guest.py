#!/usr/bin/python3
# SPDX-License-Identifier: GPL-2.0
"""The demo inside the guest: transfers without and with pep, and a table.

usage: demo-guest.py

nginx and iperf3 serve in the namespace srv, curl and iperf3 fetch and send in
sub, both with the kernel's defaults (CUBIC); topology.py has the links between
them, and the variables it needs. Exits with 1 when a hash differs, pep did not
split, or the download gains less than GAIN.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import statistics
import subprocess
import sys
import time

import topology
from commandline import arguments
from peptest import pep
from peptest.ktap import Failure
from peptest.netns import HOSTS, ip
from peptest.netns import run as run_in

WORK = pathlib.Path("/tmp/pep-demo")
SERVER = {"IPv4": "198.18.1.2", "IPv6": "[2001:db8:1::2]"}
SIZE = 2_500_000        # bytes of the file that goes down and up
LONG = 12_000_000       # bytes of the file for pepadm flow show
# Downloads of the file, the median counts; of three, two are lucky without pep
# now and then.
DOWNLOADS = 7
UPLOADS = 2             # as many as the time allows
FIRST_BYTES = 11        # small requests, the median counts
IPERF = 5               # seconds of one iperf3, after 2 of slow start
GAIN = 3.0              # download with pep over download without, at least

NGINX = """
user root;
worker_processes 1;
pid {work}/nginx.pid;
error_log {work}/error.log;
events {{ worker_connections 256; }}
http {{
    access_log off;
    sendfile on;
    client_max_body_size 0;
    client_body_temp_path {work}/body;
    proxy_temp_path {work}/proxy;
    fastcgi_temp_path {work}/fastcgi;
    uwsgi_temp_path {work}/uwsgi;
    scgi_temp_path {work}/scgi;
    server {{
        listen 198.18.1.2:80;
        listen [2001:db8:1::2]:80;
        root {work}/www;
        dav_methods PUT;
    }}
}}
"""


def run(netns, *command, timeout=120):
    """Run a command in a namespace and return its output."""
    return run_in(*map(str, command), ns=netns, seconds=timeout).stdout


def digest(path):
    """Return the SHA-256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def serve():
    """Start the servers and wait until they answer."""
    www = WORK / "www"
    www.mkdir(parents=True)
    (www / "file").write_bytes(os.urandom(SIZE))
    (www / "long").write_bytes(os.urandom(LONG))
    (www / "small").write_bytes(os.urandom(1000))
    conf = WORK / "nginx.conf"
    conf.write_text(NGINX.format(work=WORK))
    run("srv", "nginx", "-c", conf)
    run("srv", "iperf3", "--server", "--daemon", "--logfile", WORK / "iperf3")
    for address in ("198.18.1.2", "2001:db8:1::2"):
        for port in (80, 5201):
            wait_listening(address, port)


def wait_listening(address, port):
    """Wait until a server listens."""
    for _ in range(100):
        listening = run("srv", "ss", "-Hltn", f"sport = :{port}").split()
        if any(a.startswith((address, f"[{address}]", "*", "0.0.0.0", "[::]"))
               for a in listening):
            return
        time.sleep(0.1)
    raise Failure(f"nothing listens on port {port} of {address}")


def forget():
    """Flush the metrics that TCP has learnt from earlier transfers, so that
    each one starts as the first of a new subscriber."""
    for netns in HOSTS:
        ip(netns, "tcp_metrics flush")


def curl(*args):
    """Run curl in sub; return the seconds it took."""
    return float(run("sub", "curl", "-gsSf", "--max-time", "100", "-w",
                     "%{time_total}", *args))


def download(family):
    """Fetch the file; return Mbit/s."""
    got = WORK / "got"
    took = curl("-o", got, f"http://{SERVER[family]}/file")
    if digest(got) != digest(WORK / "www" / "file"):
        raise Failure(f"{family} download: the hash differs")
    return SIZE * 8 / took / 1e6


def upload(family):
    """Send the file; return Mbit/s."""
    sent = WORK / "www" / "file"
    put = WORK / "www" / "put"
    put.unlink(missing_ok=True)
    took = curl("-o", "/dev/null", "-H", "Expect:", "-T", sent,
                f"http://{SERVER[family]}/put")
    if digest(put) != digest(sent):
        raise Failure(f"{family} upload: the hash differs")
    return SIZE * 8 / took / 1e6


def iperf(family, *args):
    """Run iperf3 in sub; return the receiver's Mbit/s."""
    out = run("sub", "iperf3", "-J", "-O", 2, "-t", IPERF, "-c",
              SERVER[family].strip("[]"), *args)
    return json.loads(out)["end"]["sum_received"]["bits_per_second"] / 1e6


def first_byte(family):
    """Fetch a small file over new connections; return the median of the
    milliseconds."""
    url = f"http://{SERVER[family]}/small"
    out = run("sub", "curl", "-gsSf", "--max-time", "60", "-H",
              "Connection: close", "-w", "%{time_starttransfer}\\n",
              *(["-o", "/dev/null", url] * FIRST_BYTES))
    return 1e3 * statistics.median(map(float, out.split()))


TESTS = (
    # name, unit, repeats, function
    ("download, curl", "Mbit/s", DOWNLOADS, download),
    ("download, iperf3", "Mbit/s", 1, lambda f: iperf(f, "-R")),
    ("upload, curl", "Mbit/s", UPLOADS, upload),
    ("upload, iperf3", "Mbit/s", 1, iperf),
    ("time to first byte", "ms", 1, first_byte),
)


def measure(title):
    """Run all tests over both families; return the medians by (family,
    test)."""
    results = {}
    for family in SERVER:
        for name, unit, repeats, function in TESTS:
            values, start = [], time.monotonic()
            for _ in range(repeats):
                forget()
                values.append(function(family))
            median = statistics.median(values)
            results[family, name] = median
            print(f"  {title}: {family} {name}: {median:.1f} {unit} "
                  f"(took {time.monotonic() - start:.0f} s)", flush=True)
    return results


def table(without, with_pep):
    """Print both results side by side."""
    line = "{:<6} {:<20} {:>12} {:>12} {:>8}"
    print()
    print(line.format("", "", "without pep", "with pep", "gain"))
    for family in SERVER:
        for name, unit, _, _ in TESTS:
            before, after = without[family, name], with_pep[family, name]
            if unit == "ms":
                row = (f"{before:.0f} ms", f"{after:.0f} ms",
                       f"{before / after:.2f} x")
            else:
                row = (f"{before:.2f} Mb/s", f"{after:.2f} Mb/s",
                       f"{after / before:.2f} x")
            print(line.format(family, name, *row))
    print("Losses are random: single figures differ by tens of per cent from "
          "run to run.\nUploads: the sender on the lossy link is the "
          "subscriber itself, whose TCP pep\ndoes not change; it gains by the "
          "shorter way to the gateway only.\n", flush=True)


def show_flows():
    """Print the flow of a download of each family; raise when none is
    split."""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        for family, inet in (("IPv4", "inet"), ("IPv6", "inet6")):
            transfer = pool.submit(curl, "-o", "/dev/null",
                                   f"http://{SERVER[family]}/long")
            found = False
            while not found and not transfer.done():
                time.sleep(0.5)
                found = any(
                    flow["family"] == inet and len(flow["legs"]) == 2
                    and flow["bytes_to_wireless"] > SIZE / 2 for flow in
                    json.loads(pep.pepadm("-j", "flow", "show").stdout))
            if not found:
                raise Failure(f"no {family} flow was split")
            print(f"pepadm flow show, during an {family} download:")
            print(pep.pepadm("flow", "show").stdout, flush=True)
            transfer.result()


def check(without, with_pep, counters):
    """Raise when pep has split or gained too little."""
    # All but the control connections of iperf3 and the requests of a kilobyte,
    # with that of show_flows().
    started = len(SERVER) * (DOWNLOADS + UPLOADS + 2 + 1)
    split = counters["flow_established"]
    if split < started:
        raise Failure(f"pep split {split} connections of at least {started}")
    for family in SERVER:
        gain = (with_pep[family, "download, curl"] /
                without[family, "download, curl"])
        if gain < GAIN:
            raise Failure(f"the {family} download gained only {gain:.2f}")


def demo():
    """The whole demo."""
    topology.up()
    serve()
    print("wireless link 20 Mbit/s, 60 ms, 1 % loss each way; "
          "server path 20 ms", flush=True)
    without = measure("without pep")
    topology.attach()
    with_pep = measure("with pep")
    print()
    show_flows()
    print("pepadm stat show, what is not zero:")
    counters = json.loads(pep.pepadm("-j", "stat", "show").stdout)
    for name, value in counters.items():
        if value:
            print(f"  {name} {value}")
    table(without, with_pep)
    check(without, with_pep, counters)


def main():
    """Run the demo; print the reason of a failure."""
    arguments(__doc__, 0, 0)
    try:
        demo()
    except (Failure, subprocess.SubprocessError, OSError) as error:
        print(f"demo failed: {error}", flush=True)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
