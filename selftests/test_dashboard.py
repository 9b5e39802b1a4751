# SPDX-License-Identifier: GPL-2.0
"""The examples for Grafana and Prometheus query only series that pepadm
exports, they omit none but those named here, and promtool accepts their
expressions."""

import itertools
import json
import os
import re
import tempfile

from peptest import env, pep
from peptest.ktap import case, expect, fail
from peptest.netns import run
from peptest.pep import pepadm
from peptest.tcp import one_way, pair

TRAITS = {"once", "programs"}

DASHBOARD = os.path.join(env.TOP, "tools/grafana/pep.json")
RULES = os.path.join(env.TOP, "tools/prometheus/pep.rules.yml")
METRIC = re.compile(r"\bpep_[a-z0-9_]+")
MATCHER = re.compile(r'\b([a-z]+)([!=]~|=|!=)"([^"]*)"')
OBJECTS = 'instance="a",profile="default",size="65536"'
# Growth per minute of the series in normal operation, without any alert. LOUD
# has the changes that make each alert fire.
QUIET = {'pep_connections_total{instance="a",event="new"}': 600,
         'pep_connections_total{instance="a",event="established"}': 590,
         'pep_connections_kept_total{instance="a",reason="option"}': 600,
         'pep_packets_passed_total{instance="a",reason="no_flow"}': 600,
         'pep_flows_established_total{instance="a"}': 600,
         'pep_syns_answered_total{instance="a"}': 600,
         'pep_syns_passed_total{instance="a",reason="mptcp"}': 600,
         'pep_flows_ended_total{instance="a",cause="closed"}': 600,
         'pep_flows_ended_total{instance="a",cause="reset"}': 60,
         'pep_flows_ended_total{instance="a",cause="evicted"}': 1,
         'pep_flows_ended_total{instance="a",cause="killed"}': 1,
         'pep_connects_failed_total{instance="a",cause="refused"}': 60,
         'pep_packets_delivered_total{instance="a"}': 6000,
         'pep_relayed_bytes_total{instance="a",leg="server"}': 6000000,
         'pep_packets_dropped_total{instance="a"}': 1,
         'pep_relay_no_memory_total{instance="a"}': 1,
         'pep_syn_cookie_total{instance="a"}': 1,
         'pep_flows{instance="a"}': 10,
         'pep_flows_limit{instance="a"}': 100,
         'pep_flows_pending{instance="a"}': 1,
         'pep_flows_pending_limit{instance="a"}': 10,
         'pep_connections_followed{instance="a"}': 50,
         'pep_connections_followed_limit{instance="a"}': 100,
         'pep_draining{instance="a"}': 0,
         'pep_residence_seconds_bucket{instance="a",leg="server",'
         'le="0.524288"}': 600,
         'pep_residence_seconds_bucket{instance="a",leg="server",'
         'le="+Inf"}': 600,
         **{f'pep_compared_object_seconds_{kind},group="{group}"}}': 600
            for group in ("control", "treated")
            for kind in (f'bucket{{{OBJECTS},le="0.262144"',
                         f'bucket{{{OBJECTS},le="+Inf"',
                         f'count{{{OBJECTS}')}}
# The gateway answers Prometheus.
UP = {'up{instance="a"}': "1x60"}
# Filters, present or not.
FILTERS = {'pep_filters{instance="a",side="wireless"}': "2x60",
           'pep_filters{instance="a",side="server"}': "2x60"}
LOUD = {"PepNothingSplit": {'pep_flows_established_total{instance="a"}': 0},
        "PepNeverSplit": {
            'pep_flows_established_total{instance="a"}': 0,
            'pep_connections_kept_total{instance="a",reason="option"}': 0},
        "PepDraining": {'pep_draining{instance="a"}': 1},
        "PepStray": {'pep_stray_total{instance="a"}': 1},
        "PepDetours": {'pep_connections_total{instance="a",'
                       'event="detour"}': 1},
        "PepNothingRelayed": {
            'pep_relayed_bytes_total{instance="a",leg="server"}': 9000},
        "PepFirewallDrops": {'pep_input_dropped_total{instance="a"}': 0,
                             'pep_output_dropped_total{instance="a"}': 1},
        "PepOverload": {'pep_connections_kept_total{instance="a",'
                        'reason="max_flows"}': 1},
        "PepTableFull": {'pep_connections_total{instance="a",'
                         'event="full"}': 1},
        "PepNearLimit": {'pep_flows_pending{instance="a"}': 10},
        "PepServersUnreached": {'pep_connects_failed_total{instance="a",'
                                'cause="timeout"}': 400},
        "PepHandshakesUnseen": {'pep_connections_total{instance="a",'
                                'event="established"}': 10},
        "PepSynsUnseen": {
            'pep_connections_total{instance="a",event="new"}': 0,
            'pep_packets_passed_total{instance="a",reason="no_flow"}': 60000,
            'pep_syns_answered_total{instance="a"}': 0},
        "PepResets": {'pep_flows_ended_total{instance="a",'
                      'cause="reset"}': 900},
        "PepEvictions": {'pep_flows_ended_total{instance="a",'
                         'cause="evicted"}': 60},
        "PepKilled": {'pep_flows_ended_total{instance="a",'
                      'cause="killed"}': 60},
        "PepResidence": {'pep_residence_seconds_bucket{instance="a",'
                         'leg="server",le="4.194304"}': 700,
                         'pep_residence_seconds_bucket{instance="a",'
                         'leg="server",le="+Inf"}': 700},
        "PepDrops": {'pep_relay_no_memory_total{instance="a"}': 100},
        "PepFlood": {'pep_syn_cookie_total{instance="a"}': 900},
        "PepHurts": {
            f'pep_compared_object_seconds_bucket{{{OBJECTS},'
            'le="0.262144",group="treated"}': 0,
            f'pep_compared_object_seconds_bucket{{{OBJECTS},'
            'le="1.048576",group="treated"}': 600}}
# Changes that make an alert fire for another of its reasons.
ALSO = [("PepTableFull", {'pep_connections_total{instance="a",'
                          'event="evicted"}': 1}),
        ("PepNearLimit", {'pep_connections_followed{instance="a"}': 95})]
# Fires when the modification time of the counters' file does not change.
STALE = "PepMetricsStale"
# Fires when the counters are there no more, while the gateway answers.
MISSING = "PepMetricsMissing"
# Fires when a side has no filters, and when it has fewer.
DETACHED = "PepNothingAttached"
FEWER = "PepFiltersLost"
# Labels that Prometheus adds.
GIVEN = {"job", "instance", "file"}
# Series that no panel shows: every value of them is normal.
LEFT_OUT = {
    "pep_time_wait_reused_total",
}


def setup():
    """Objects of both groups of a profile that has a control group."""
    pep.attached()
    pepadm("profile", "set", "default", "control", "50%")
    for _ in range(20):
        both = pair(4)
        one_way(*both, 100)
        one_way(*both[::-1], 1000)
        for sock in both:
            sock.close()
    pep.flows_end()


def exported():
    """Output of pepadm's export for a named namespace: the series' names, and
    the values of each label."""
    text = pepadm("-N", "pep", "stat", "show", "--prometheus", ns=None).stdout
    names, labels = set(), {}
    for line in text.splitlines():
        if not line.startswith("#"):
            names.add(METRIC.match(line).group())
            for label, _, value in MATCHER.findall(line):
                labels.setdefault(label, set()).add(value)
    return names, labels


def expect_known(what, expr, names, labels):
    """Fail unless an expression uses only exported names and labels."""
    for name in METRIC.findall(expr):
        if name not in names:
            fail(f"{what}: {name} is not exported")
    for label, _, values in MATCHER.findall(expr):
        if label in GIVEN or values.startswith("$"):
            continue
        for value in values.split("|"):
            if value not in labels.get(label, ()):
                fail(f'{what}: no sample has {label}="{value}"')
    for group in re.findall(r"\bby \(([a-z, ]+)\)", expr):
        for label in group.split(", "):
            if label not in GIVEN and label not in labels:
                fail(f"{what}: no sample has the label {label}")


def once(pairs):
    """An object without duplicate keys."""
    found = dict(pairs)
    expect("number of keys", len(found), len(pairs))
    return found


def dashboard():
    """The dashboard, its panels with those within rows, and their
    expressions by panel and query."""
    with open(DASHBOARD, encoding="utf-8") as file:
        board = json.load(file, object_pairs_hook=once)
    panels = list(itertools.chain.from_iterable(
        [panel, *panel.get("panels", ())] for panel in board["panels"]))
    exprs = {f"{panel['title']}, {target['refId']}": target["expr"]
             for panel in panels for target in panel.get("targets", ())}
    return board, panels, exprs


def check_rules(path):
    """Fail unless promtool accepts a file of rules."""
    done = run(env.PROMTOOL, "check", "rules", path, check=False)
    if done.returncode or "SUCCESS" not in done.stdout:
        fail(f"promtool says {done.stdout}{done.stderr}")


@case("panels of the dashboard")
def layout():
    """Each has its own number and position, and its queries have letters."""
    board, panels, exprs = dashboard()
    numbers = [panel["id"] for panel in panels]
    expect("numbers of panels", len(set(numbers)), len(numbers))
    titles = [panel["title"] for panel in panels]
    expect("titles of panels", len(set(titles)), len(titles))
    taken = set()
    for panel in panels:
        place = panel["gridPos"]
        if place["x"] + place["w"] > 24:
            fail(f"{panel['title']} is not within the width")
        for cell in itertools.product(
                range(place["x"], place["x"] + place["w"]),
                range(place["y"], place["y"] + place["h"])):
            if cell in taken:
                fail(f"{panel['title']} lies on another")
            taken.add(cell)
    expect("number of queries", len(exprs),
           sum(len(panel.get("targets", ())) for panel in panels))
    known = {variable["name"] for variable in board["templating"]["list"]}
    known |= {"__rate_interval", "__all"}
    for name in re.findall(r"\$\{?(\w+)", json.dumps(board)):
        if name not in known:
            fail(f"there is no variable {name}")


@case("what panels and alerts ask for is there")
def asked():
    names, labels = exported()
    board, _, exprs = dashboard()
    for what, expr in exprs.items():
        expect_known(what, expr, names, labels)
    for variable in board["templating"]["list"]:
        if variable["type"] == "query":
            expect_known(variable["name"], variable["definition"], names,
                         labels)
    with open(RULES, encoding="utf-8") as file:
        rules = file.read()
    for expr in re.findall(r"expr: (.*?)\n *(?:for|labels):", rules,
                           re.DOTALL):
        expect_known("an alert", expr, names, labels)


@case("what there is is shown, or left out by name")
def shown():
    names, _ = exported()
    found = set(METRIC.findall(" ".join(dashboard()[2].values())))
    expect("not shown", sorted(names - found - LEFT_OUT), [])
    expect("left out and yet shown", sorted(LEFT_OUT & found), [])
    expect("left out and not there", sorted(LEFT_OUT - names), [])


@case("promtool finds the expressions right")
def promql():
    """The dashboard's expressions as rules, with a fixed interval in place of
    Grafana's variable."""
    rules = [{"record": f"query{number}",
              "expr": expr.replace("$__rate_interval", "5m")}
             for number, expr in enumerate(dashboard()[2].values())]
    with tempfile.NamedTemporaryFile("w", suffix=".yml",
                                     encoding="utf-8") as file:
        json.dump({"groups": [{"name": "dashboard", "rules": rules}]}, file)
        file.flush()
        check_rules(file.name)
    check_rules(RULES)


def alerting(series, wanted):
    """A test for promtool: series make exactly these alerts fire within an
    hour."""
    return {"interval": "1m",
            "input_series": [{"series": name, "values": values}
                             for name, values in series.items()],
            "promql_expr_test": [{
                "expr": "count by (alertname) (ALERTS{alertstate='firing'})",
                "eval_time": "1h",
                "exp_samples": [{"labels": f'{{alertname="{name}"}}',
                                 "value": 1} for name in wanted]}]}


@case("alerts fire when there is a reason", seconds=420)
def alerts():
    """Each by itself, and none in normal operation."""
    def growing(series):
        return {name: f"0+{number}x60" for name, number in series.items()}
    stamp = 'node_textfile_mtime_seconds{instance="a",file="/x/pep.prom"}'
    quiet = {**growing(QUIET), **FILTERS, **UP, stamp: "0+60x60"}
    gone = {name: "1x30 _x30" for name in (*QUIET, *FILTERS, stamp)}
    tests = [alerting(quiet, []),
             alerting({**quiet, stamp: "0x60"}, [STALE]),
             alerting({**gone, **UP}, [MISSING]),
             alerting({**gone, 'up{instance="a"}': "1x30 0x30"}, []),
             *(alerting({**quiet, name: "0x60"}, [DETACHED])
               for name in FILTERS),
             *(alerting({**quiet, name: "2x30 1x30"}, [FEWER])
               for name in FILTERS),
             *(alerting({**quiet, **growing(series)}, [name])
               for name, series in (*LOUD.items(), *ALSO))]
    with open(RULES, encoding="utf-8") as file:
        names = re.findall(r"alert: (\w+)", file.read())
    expect("alerts", sorted(names),
           sorted([STALE, MISSING, DETACHED, FEWER, *LOUD]))
    fire(RULES, tests)


def fire(rules, tests):
    """Fail unless promtool finds that alerts fire as the tests say."""
    with tempfile.NamedTemporaryFile("w", suffix=".yml",
                                     encoding="utf-8") as file:
        json.dump({"rule_files": [rules], "tests": tests}, file)
        file.flush()
        done = run(env.PROMTOOL, "test", "rules", file.name, check=False,
                   seconds=400)
    if done.returncode:
        fail(f"promtool says {done.stdout}{done.stderr}")


@case("filters that come and go with sessions", seconds=120)
def sessions():
    """The guide's matcher in the rule: only the servers' side has to keep its
    filters."""
    with open(RULES, encoding="utf-8") as file:
        before, alert, after = re.split(
            rf"(alert: {FEWER}\n.*?\n *for:)", file.read(), flags=re.DOTALL)
    with tempfile.NamedTemporaryFile("w", suffix=".yml",
                                     encoding="utf-8") as file:
        file.write(before + alert.replace(
            "pep_filters", 'pep_filters{side="server"}') + after)
        file.flush()
        fire(file.name, [
            alerting({**FILTERS, name: "2x30 1x30"}, wanted)
            for name, wanted in zip(FILTERS, ([], [FEWER]))])
