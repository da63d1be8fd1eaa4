"""How `tritonsm status` looks."""

import io
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from rich.console import Console

from cli.status.report import (
    Activity,
    Alarm,
    Endpoint,
    Load,
    Loaded,
    Model,
    Policy,
    Report,
    Requests,
    Scaling,
    Variant,
)
from cli.status.tables import tables
from release.delivery.live_differences import Problem

pytestmark = pytest.mark.usefixtures("in_utc")

NOW = datetime(2026, 11, 22, 10, 6, tzinfo=UTC)
QUIET = Load(calls_a_minute=0, errors_4xx=0, errors_5xx=0, model_errors=0)
BUSY = Load(
    calls_a_minute=1234.5,
    errors_4xx=2,
    errors_5xx=0,
    model_errors=1,
    latency_p50_ms=0.5,
    latency_p95_ms=12.34,
    latency_p99_ms=240,
    overhead_ms=3,
    cpu_percent=81,
    memory_percent=40.26,
    disk_percent=71,
    loaded_models=3,
)
VARIANT = Variant("AllTraffic", 1.0, 1, 2, None, BUSY)
LATENCY = Alarm(
    name="prod-text-EndpointMonitoringAllTrafficLatencyP99critical2A7E",
    state="ALARM",
    since=NOW,
    reason="Threshold Crossed: 3 datapoints",
    severity="critical",
    endpoint="prod-text",
    measure="p99 model latency",
    value=7210,
    limit=5000,
    unit="ms",
    section="LatencyP50, LatencyP99",
)
REPORT = Report(
    since=NOW.replace(minute=1),
    until=NOW,
    endpoints=[Endpoint("prod-text", "InService", None, [VARIANT])],
    models=[],
    alarms=[],
    activities=[],
    not_asked=[],
)


def _shown(report: Report, width: int = 80) -> list[str]:
    """Return the lines on a terminal of so many columns, without spaces at their ends."""
    console = Console(file=io.StringIO(), width=width, highlight=False)
    console.print(tables(report), crop=False)
    assert isinstance(console.file, io.StringIO)
    lines = console.file.getvalue().splitlines()
    return [it.rstrip() for it in lines]


def test_columns_that_nobody_has_a_value_for_are_left_out() -> None:
    assert _shown(REPORT) == [
        "endpoint   status     variant     instances",
        "prod-text  InService  AllTraffic  1/2",
        "",
        "load of 10:01:00 to 10:06:00",
        "           calls            p50   p95  p99    over-  CPU   mem  disk",
        "endpoint   a min  errors     ms    ms   ms  head ms    %     %     %  models",
        "prod-text   1234  2 4XX    0.50  12.3  240        3   81  40.3    71       3",
        "                  1 model",
    ]


def test_scaling_is_the_limits_and_each_policy_with_its_value_and_target() -> None:
    policies = [
        Policy("a", "invocations", 34.0, 60.0, "a minute"),
        Policy("b", "GPU", None, 70.0, "%"),
    ]
    variant = replace(VARIANT, scaling=Scaling(1, 3, policies), load=QUIET)
    endpoint = Endpoint("prod-text", "InService", None, [variant])
    assert _shown(replace(REPORT, endpoints=[endpoint]))[:4] == [
        "endpoint   status     variant     instances  scaling",
        "prod-text  InService  AllTraffic  1/2        1-3",
        "                                             invocations 34 of 60 a minute",
        "                                             GPU ? of 70 %",
    ]


def test_several_variants_have_weights_and_rows_of_their_own() -> None:
    variants = [VARIANT, Variant("New", 0.5, 1, 1, None, QUIET)]
    shown = _shown(replace(REPORT, endpoints=[Endpoint("prod-text", "Updating", None, variants)]))
    assert shown[:3] == [
        "endpoint   status    variant     weight  instances",
        "prod-text  Updating  AllTraffic       1  1/2",
        "                     New            0.5  1/1",
    ]
    assert shown[-1].split() == ["New", "0", "0"]


def test_why_an_endpoint_failed_stands_beneath() -> None:
    failed = Endpoint("prod-text", "Failed", "The [model] container did not pass.", [])
    assert _shown(replace(REPORT, endpoints=[failed])) == [
        "endpoint   status",
        "prod-text  Failed",
        "prod-text Failed: The [model] container did not pass.",
    ]


def test_models_alarms_and_activities_have_tables() -> None:
    loaded = [
        Loaded("AllTraffic", "i-0123456789", "loaded", 120 << 20),
        Loaded("AllTraffic", "i-abcdefghij", "loading", None),
    ]
    reason = "Crossed: 3 datapoints [1.0 (22/11/26 10:00:00)] were greater. More."
    cause = (
        "monitor alarm TargetTracking-endpoint/prod-text/variant/AllTraffic-AlarmHigh-1-2 in state "
        "ALARM triggered policy endpoint-prod-text-variant-AllTraffic-Invocations"
    )
    yesterday = NOW.replace(day=21)
    what = "Setting desired instance count to 3."
    report = replace(
        REPORT,
        requests=[],
        models=[
            Model("prod-text", "bert", "1", "bert-1.tar.gz", loaded, log_errors=3),
            Model("prod-text", "minilm", "1", "minilm-1.tar.gz", loaded[:1], in_catalog=False),
            Model("prod-text", "minilm", "2", "minilm-2.tar.gz", []),
        ],
        alarms=[LATENCY, Alarm("prod-text-Errors", "ALARM", yesterday, reason)],
        activities=[Activity(NOW, "prod-text", "AllTraffic", what, cause, "Successful", None)],
    )
    assert _shown(report, width=120)[9:] == [
        "models",
        "                                                               log",
        "endpoint   model   version                 archive          errors  loaded",
        "prod-text  bert    1                       bert-1.tar.gz         3  i-01234 120 MiB",
        "                                                                    i-abcde loading",
        "           minilm  1 (not in the catalog)  minilm-1.tar.gz          i-01234 120 MiB",
        "           minilm  2                       minilm-2.tar.gz          nowhere",
        "invocations by model: not published (SageMaker counts them by variant)",
        "",
        "alarms that are not OK",
        "alarm     endpoint   measure                                 value    limit  since"
        "                runbook",
        "critical  prod-text  p99 model latency                     7210 ms  5000 ms  10:06:00"
        "             LatencyP50, LatencyP99",
        "ALARM                prod-text-Errors: Crossed: 3                            2026-11-21 "
        "10:06:00",
        "                     datapoints were greater.",
        "",
        "scaling",
        "when      endpoint   what                                  cause                     "
        "status",
        "10:06:00  prod-text  Setting desired instance count to 3.  AlarmHigh of Invocations  "
        "Successful",
    ]


def test_what_was_not_asked_is_said() -> None:
    assert _shown(replace(REPORT, not_asked=["load: not allowed"]))[-1] == (
        "not asked: load: not allowed"
    )
    nothing = replace(REPORT, endpoints=[], not_asked=["models: not allowed"])
    assert _shown(nothing) == ["no endpoint is deployed", "", "not asked: models: not allowed"]


def test_requests_of_models_are_shown_where_triton_publishes_them() -> None:
    models = [Model("prod-text", "minilm", "1", "minilm-1.tar.gz", None)]
    requests = [Requests("prod-text", "minilm", "failed", 3)]
    assert _shown(replace(REPORT, models=models, requests=requests))[-4:] == [
        "",
        "requests by model, as Triton counts them",
        "endpoint   model   requests  count",
        "prod-text  minilm  failed        3",
    ]


def test_narrow_terminals_lose_nothing() -> None:
    name = "production-embedding-of-sentences"
    shown = " ".join(
        _shown(replace(REPORT, endpoints=[Endpoint(name, "InService", None, [VARIANT])]))
    )
    for text in ("AllTraffic", "1234", "2 4XX", "12.3", "40.3"):
        assert text in shown
    narrow = _shown(replace(REPORT, endpoints=[Endpoint(name, "InService", None, [VARIANT])]), 50)
    assert max(map(len, narrow)) <= 50


def test_differences_are_lines_with_their_commands() -> None:
    """They are copied: no line is broken at the end of a terminal."""
    command = "tritonsm rollback minilm --to 0123456789ab --stage production --endpoint sentences"
    problem = Problem("text/minilm", "the catalog has version a instead of b", command)
    shown = _shown(replace(REPORT, differences=[problem]))
    start = shown.index("differences from what was deployed")
    assert shown[start + 1 : start + 3] == [
        "text/minilm: the catalog has version a instead of b",
        f"  {command}",
    ]
    assert f"  {command}" in _shown(replace(REPORT, endpoints=[], differences=[problem]))
