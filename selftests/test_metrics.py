# SPDX-License-Identifier: GPL-2.0
"""The counters, the limits, residence of payload, attached filters, links of
subscribers and results of groups of connections, in Prometheus' text format:
Prometheus' own checker reports nothing, and they equal those in JSON."""

import json
import os
import re
import tempfile

from peptest import env, pep
from peptest.ktap import (case, expect, expect_between, expect_least, fail,
                          wait_for)
from peptest.netns import delayed, run
from peptest.pep import pepadm, split_pair
from peptest.tcp import exchange_part, one_way, pair

TRAITS = {"once"}

SAMPLE = re.compile(r'(pep_[a-z_]+)(?:\{([a-z]+)="([a-z0-9_]+)"\})? (\d+)')
HISTOGRAM = re.compile(r'(pep_[a-z_]+)_(bucket|sum|count)'
                       r'(?:\{([^}]*)\})? ([0-9.]+)')
LABEL = re.compile(r'([a-z]+)="([^"]*)",?')
# Histograms that always exist, and those of a profile with a control group.
HISTOGRAMS = ["pep_residence_seconds", "pep_link_rate_bytes",
              "pep_link_rtt_seconds"]
COMPARED = ["pep_compared_object_seconds", "pep_compared_delay_seconds"]
# Numbers of both groups, with the key in JSON.
GROUPS = {"pep_compared_connections_total": "connections",
          "pep_compared_connections_cut_total": "cut",
          "pep_compared_bytes_total": "bytes",
          "pep_compared_bytes_again_total": "bytes_again"}
# Counters of each metric with a label, as the name in JSON.
LABELLED = {"pep_packets_passed_total": "pass_{}",
            "pep_syns_passed_total": "syn_pass_{}",
            "pep_flows_ended_total": "flow_{}",
            "pep_connections_total": "follow_{}",
            "pep_connections_kept_total": "split_pass_{}",
            "pep_connections_split_total": "split_{}",
            "pep_connects_failed_total": "connect_{}",
            "pep_resume_total": "resume_{}",
            "pep_relayed_bytes_total": "bytes_to_{}",
            "pep_relayed_bytes_by_way_total": "bytes_{}",
            "pep_filters": "filters_{}"}
RENAMED = {"pep_flows_pending": "pending",
           "pep_connections_followed": "followed",
           "pep_connections_followed_limit": "followed_limit",
           "pep_packets_unseen_total": "follow_unseen",
           "pep_packets_delivered_total": "delivered",
           "pep_packets_dropped_total": "dropped",
           "pep_syns_answered_total": "syn_answered",
           "pep_flows_established_total": "flow_established"}
# Names of the limits in JSON.
LIMITS = {"flows_limit": "flows", "flows_pending_limit": "pending",
          "draining": "drain"}
# The filters that are attached.
FILTERS = "filters_wireless", "filters_server"


def setup():
    """Only pep, attached."""
    pep.attached()


def plain(line):
    """Run tc in the gateway."""
    run("env", f"TC_LIB_DIR={env.PLUGINS}", "tc", "-n", "pep", *line.split())


def samples(text):
    """Values of the samples by their name in JSON, and types by metric."""
    found, types = {}, {}
    for line in text.splitlines():
        words = line.split()
        if line.startswith("# TYPE "):
            expect(f"{words[2]} begins once", words[2] in types, False)
            types[words[2]] = words[3]
        elif not line.startswith(("# HELP ", *HISTOGRAMS, "pep_compared_")):
            match = SAMPLE.fullmatch(line)
            if not match:
                fail(f"no sample: {line}")
            metric, label, value, number = match.groups()
            if label:
                name = LABELLED[metric].format(value)
            else:
                name = RENAMED.get(metric) or re.sub(
                    "^pep_|_total$", "", metric)
            expect(f"{name} is there once", name in found, False)
            found[name] = int(number)
    return found, types


def labels_of(text):
    """Labels of a sample by name."""
    expect(f"labels of {text!r}", LABEL.sub("", text), "")
    return dict(LABEL.findall(text))


def histograms(text, metric):
    """A histogram by the values of its labels other than "le": the buckets as
    (end in millionths, samples up to it), the sum in billionths, and the
    count."""
    found = {}
    for line in text.splitlines():
        if not line.startswith((metric + "_", metric + "{")):
            continue
        match = HISTOGRAM.fullmatch(line)
        if not match:
            fail(f"no sample: {line}")
        _, kind, labels, number = match.groups()
        labels = labels_of(labels or "")
        end = labels.pop("le", None)
        one = found.setdefault(tuple(labels.values()), {"buckets": []})
        if kind == "bucket":
            one["buckets"].append((round(float(end) * 1000000)
                                   if end != "+Inf" else None, int(number)))
        elif kind == "sum":
            whole, _, part = number.partition(".")
            one[kind] = int(whole) * 1000000000 + int(part.ljust(9, "0"))
        else:
            one[kind] = int(number)
    for name, one in found.items():
        upto = [number for _, number in one["buckets"]]
        expect(f"{metric} {name}: buckets add up", upto, sorted(upto))
        expect(f"{metric} {name}: the last one", (one["buckets"][-1][0],
                                                  upto[-1]),
               (None, one["count"]))
    return found


def traffic():
    """Some payload each way, over both families."""
    for family in 4, 6:
        both = split_pair(family)
        exchange_part(both, 1000)
        for sock in both:
            sock.close()
    pep.flows_end()


def checked(text):
    """Fail if promtool reports a problem."""
    done = run(env.PROMTOOL, "check", "metrics", stdin=text, ns="pep")
    expect("what promtool says", done.stdout + done.stderr, "")


@case("the counters after some traffic")
def counters():
    traffic()
    # Meanwhile neighbours exchange packets and the pool is filled up.
    before = json.loads(pepadm("-j", "stat").stdout)
    text = pepadm("stat", "show", "--prometheus").stdout
    after = json.loads(pepadm("-j", "stat").stdout)
    found, types = samples(text)
    for name in *LIMITS, *FILTERS:
        del found[name]
    expect("names", sorted(found), sorted(before))
    for name, value in found.items():
        low, high = sorted((before[name], after[name]))
        expect_between(name, value, low, high)
    expect("payload", found["bytes_to_wireless"], 2000)
    expect("gauges", sorted(m for m, kind in types.items()
                            if kind == "gauge"),
           ["pep_connections_followed", "pep_connections_followed_limit",
            "pep_draining", "pep_filters", "pep_flows", "pep_flows_limit",
            "pep_flows_pending", "pep_flows_pending_limit",
            "pep_pool_sockets"])
    expect("histograms", [m for m, kind in types.items()
                          if kind == "histogram"], HISTOGRAMS)
    checked(text)


@case("limits")
def limits():
    """The limits as set; draining is 1."""
    pepadm("limit", "set", "flows", "1234", "pending", "56")
    for drain in "on", "off":
        pepadm("drain", drain)
        told = {**json.loads(pepadm("-j", "limit").stdout),
                "drain": int(drain == "on")}
        expect("limits in JSON", (told["flows"], told["pending"]), (1234, 56))
        found, _ = samples(pepadm("stat", "show", "--prometheus").stdout)
        expect("limits", {name: found[name] for name in LIMITS},
               {name: told[key] for name, key in LIMITS.items()})


@case("what is attached")
def attached():
    """Filters of pepadm, other ones, of another kind, with a shared action;
    not an action without a filter."""
    def counted():
        found, _ = samples(pepadm("stat", "show", "--prometheus").stdout)
        return tuple(found[name] for name in FILTERS)

    def expect_filters(*wanted):
        # The action of a filter is freed a moment after it.
        wait_for(f"filters {wanted}", lambda: counted() == wanted)
    expect_filters(2, 2)
    pepadm("dev", "del", "sv0")
    run("modprobe", "-q", "cls_flower", check=False)
    for line in ("actions add action pepsplit side server index 77",
                 "qdisc add dev sv0 clsact",
                 "filter add dev sv0 ingress protocol ip flower ip_proto tcp "
                 "action pepsplit index 77",
                 "filter add dev sv0 ingress protocol ipv6 flower ip_proto "
                 "tcp action pepsplit index 77",
                 "filter add dev sv0 ingress protocol ip flower ip_proto udp "
                 "action pepsplit side wireless"):
        plain(line)
        if line.startswith("actions"):
            expect_filters(2, 0)
    expect_filters(3, 2)
    plain("qdisc del dev sv0 clsact")
    pepadm("dev", "del", "wl0")
    expect_filters(0, 0)
    plain("actions flush action pepsplit")
    pep.attach()


@case("how long payload stays")
def residence():
    """Buckets add up, and equal those of JSON; the sum is in their range."""
    traffic()
    told = json.loads(pepadm("-j", "stat", "residence").stdout)
    found = histograms(pepadm("stat", "show", "--prometheus").stdout,
                       HISTOGRAMS[0])
    expect("legs", sorted(found), [("server",), ("wireless",)])
    for (leg,), one in found.items():
        json_of = told[leg]["residence"]
        ends = [end for end, _ in one["buckets"]]
        expect(f"{leg}: ends", ends, [1 << i for i in range(23)] + [None])
        upto = [number for _, number in one["buckets"]]
        expect_least(f"{leg}: samples", one["count"], 2)
        expect(f"{leg}: samples in JSON", json_of["samples"], one["count"])
        each = [now - before for before, now in zip([0] + upto, upto)]
        expect(f"{leg}: buckets in JSON",
               {bucket["below_us"]: bucket["samples"]
                for bucket in json_of["buckets"]},
               {1 << i: number for i, number in enumerate(each) if number})
        expect(f"{leg}: sum in JSON", told[leg]["sum_ns"], one["sum"])
        expect_least(f"{leg}: the sum in ns", one["sum"],
                     sum(number * 1000 << i - 1
                         for i, number in enumerate(each) if i))
        if not each[-1]:
            expect_least(f"{leg}: ns that the sum may be",
                         sum(number * 1000 << i
                             for i, number in enumerate(each)), one["sum"])


@case("links of subscribers, by rate and round trip")
def links():
    """As many as path show has, each in the right bucket."""
    pepadm("path", "flush", "all")
    text = pepadm("stat", "show", "--prometheus").stdout
    for metric in HISTOGRAMS[1:]:
        one = histograms(text, metric)[()]
        expect(f"{metric}: none", (one["count"], one["sum"]), (0, 0))
    with delayed():
        for family in 4, 6:
            both = split_pair(family)
            for _ in range(20):
                one_way(both[1], both[0], 100000)
            for sock in both:
                sock.close()
        pep.flows_end()
    known = [one for one in json.loads(pepadm("-j", "path", "show").stdout)
             if "rate" in one and "rtt_us" in one]
    expect("links", len(known), 2)
    text = pepadm("stat", "show", "--prometheus").stdout
    checked(text)
    for metric, key, first, unit in (
            (HISTOGRAMS[1], "rate", 12500, 1000000),
            (HISTOGRAMS[2], "rtt_us", 1000, 1)):
        one = histograms(text, metric)[()]
        values = [link[key] for link in known]
        expect(f"{metric}: ends", [end for end, _ in one["buckets"]],
               [(first << i) * unit for i in range(19)] + [None])
        expect(f"{metric}: sum", one["sum"], sum(values) * unit * 1000)
        for end, number in one["buckets"]:
            expect(f"{metric}: up to {end}", number,
                   sum(end is None or value * unit <= end
                       for value in values))


@case("what groups of connections got")
def compared():
    """Only with a profile that has a control group; its name is a label."""
    text = pepadm("stat", "show", "--prometheus").stdout
    expect("without one", "pep_compared_" in text, False)
    for words in ("add", "gold"), ("set", "default"):
        pepadm("profile", *words, "control", "50%")
    with delayed():
        for number in range(20):
            both = pair((4, 6)[number % 2])
            one_way(*both, 100)
            one_way(*both[::-1], (1000, 20000)[number % 2])
            for sock in both:
                sock.close()
        pep.flows_end()
        wait_for("the end of all", lambda: not json.loads(
            pepadm("-j", "conn", "show", "stage", "followed").stdout))
    told = json.loads(pepadm("-j", "stat", "gain").stdout)
    text = pepadm("stat", "show", "--prometheus").stdout
    pepadm("profile", "set", "default", "control", "off")
    pepadm("profile", "del", "gold")
    checked(text)
    _, types = samples(text)
    expect("types", {m: kind for m, kind in types.items() if "compared" in m},
           {**{m: "counter" for m in GROUPS},
            **{m: "histogram" for m in COMPARED}})
    expect("profiles", [one["profile"] for one in told], ["default", "gold"])
    expect_groups(text, told)
    objects = histograms(text, COMPARED[0])
    expect("objects of", {name for name, _, _ in objects}, {"default"})
    for size in told[0]["sizes"]:
        for group, count in size["count"].items():
            one = objects.pop(("default", group, str(size["size"])),
                              {"count": 0})
            expect(f"objects of {group} up to {size['size']}", one["count"],
                   count)
    expect("objects of other sizes", objects, {})
    for (name, group), one in histograms(text, COMPARED[1]).items():
        delay, = (each["delay"] for each in told if each["profile"] == name)
        expect(f"samples of {group} of {name}", one["count"],
               delay["count"][group])


def expect_groups(text, told):
    """Fail unless numbers of groups equal those of JSON."""
    found = {}
    for line in text.splitlines():
        metric, _, rest = line.partition("{")
        if metric in GROUPS:
            labels, _, number = rest.partition("} ")
            labels = labels_of(labels)
            found[metric, labels["profile"], labels["group"]] = int(number)
    expect("numbers of groups", found,
           {(metric, one["profile"], group): numbers[key]
            for one in told for group, numbers in one["groups"].items()
            for metric, key in GROUPS.items()})


@case("a label for the namespace")
def namespace():
    """When -N names one; its name may have characters that end a label."""
    plain = pepadm("stat", "show", "--prometheus").stdout
    here = [line.rpartition(" ")[0] for line in plain.splitlines()]
    with tempfile.TemporaryDirectory() as path:
        odd = os.path.join(path, 'a"b\\c')
        os.symlink("/run/netns/pep", odd)
        no_text = os.path.join(path, os.fsdecode(b"\xff\xe4a"))
        os.symlink("/run/netns/pep", no_text)
        for name in "pep", odd, no_text:
            quoted = name.replace("\\", "\\\\").replace('"', '\\"')
            quoted = os.fsencode(quoted).decode(errors="replace")
            text = pepadm("-N", name, "stat", "show", "--prometheus",
                          ns="sub").stdout
            checked(text)
            there = []
            for line in text.splitlines():
                if not line.startswith("#"):
                    line = line.replace(f'netns="{quoted}"', "", 1).replace(
                        "{,", "{").replace("{}", "")
                there.append(line.rpartition(" ")[0])
            expect(f"labels of {name}", there, here)
            expect("samples with it", text.count(f'{{netns="{quoted}"'),
                   sum(not line.startswith("#")
                       for line in text.splitlines()))
