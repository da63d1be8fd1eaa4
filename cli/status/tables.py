"""The report, as tables that stay readable in 80 columns."""

import re
from collections.abc import Iterator, Sequence
from datetime import datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.names import short
from cli.printable import printable, whole_line
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
    Variant,
)
from cli.times import on_the_clock

COLOURS = {
    **{"InService": "green", "Successful": "green"},
    **{"Failed": "red", "OutOfService": "red", "UpdateRollbackFailed": "red", "ALARM": "red"},
}
"""Of states; the others pass. Source: API references, DescribeEndpoint, DescribeAlarms and
DescribeScalingActivities."""
RIGHT = {
    *("weight", "calls\na min", "p50\nms", "p95\nms", "p99\nms", "over-\nhead ms"),
    *(
        "CPU\n%",
        "mem\n%",
        "GPU\n%",
        "GPU\nmem %",
        "disk\n%",
        "models",
        "count",
        "value",
        "limit",
        "log\nerrors",
    ),
}
"""Columns of numbers."""
MIB = 1 << 20
_CAUSE = re.compile(r"monitor alarm \S+-(Alarm\w+)-\S+ in state \w+ triggered policy (\S+)")
"""By a policy: user guide of Application Auto Scaling, "Scaling activities"."""

Row = dict[str, str | Text]
"""Header -> cell; the rows of a table have the same headers."""


def tables(report: Report) -> RenderableType:
    """Return all that there is to show."""
    if not report.endpoints:
        return Group("no endpoint is deployed", *_differences(report), *_refused(report))
    return Group(*_parts(report), *_refused(report))


def _parts(report: Report) -> Iterator[RenderableType]:
    yield _table([row for it in report.endpoints for row in _endpoint(it)])
    for it in report.endpoints:
        if it.reason:
            yield whole_line(f"{it.name} {it.status}: {it.reason}", "red")
    yield from _differences(report)
    now = report.until
    loads = [row for it in report.endpoints for row in _loads(it)]
    if any(cell for row in loads for header, cell in row.items() if header not in _NAMES):
        yield _title(
            f"load of {on_the_clock(report.since, now)} to {on_the_clock(report.until, now)}"
        )
        yield _table(loads)
    if report.models:
        yield _title("models")
        yield _table(_models(report.models))
        if report.requests:
            yield _title("requests by model, as Triton counts them")
            yield _table([_requests(series) for series in report.requests])
        elif report.requests is not None:
            yield Text("invocations by model: not published (SageMaker counts them by variant)")
    if report.alarms:
        yield _title("alarms that are not OK")
        yield _table([_alarm(it, now) for it in report.alarms])
    if report.activities:
        yield _title("scaling")
        yield _table([_activity(it, now) for it in report.activities])


_NAMES = ("endpoint", "variant")


def _differences(report: Report) -> Iterator[Text]:
    if report.differences:
        yield _title("differences from what was deployed")
    for problem in report.differences:
        yield whole_line(f"{problem.subject}: {problem.text}", "red")
        yield whole_line(f"  {problem.command}")


def _refused(report: Report) -> Iterator[Text]:
    for it in report.not_asked:
        yield Text()
        yield whole_line(f"not asked: {it}", "yellow")


def _title(text: str) -> Text:
    return Text(f"\n{text}", "bold")


def _table(rows: Sequence[Row]) -> Table:
    """Return the columns in which anything stands."""
    table = Table(box=None, pad_edge=False)
    headers = [it for it in rows[0] if any(row[it] for row in rows)]
    for header in headers:
        if header in RIGHT:
            table.add_column(header, justify="right", no_wrap=True)
        else:
            table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(_cell(row[it]) for it in headers))
    return table


def _cell(content: str | Text) -> Text:
    return content if isinstance(content, Text) else Text(content)


def _endpoint(endpoint: Endpoint) -> Iterator[Row]:
    """Yield a row for each variant; what they share stands in the first."""
    name, status = endpoint.name, _state(endpoint.status)
    several = len(endpoint.variants) > 1
    for it in endpoint.variants or (None,):
        yield {
            "endpoint": name,
            "status": status,
            "variant": it.name if it else "",
            "weight": f"{it.weight:g}" if it and several and it.weight is not None else "",
            "instances": f"{it.instances}/{it.desired_instances}" if it else "",
            "scaling": _scaling(it) if it else "",
        }
        name, status = "", Text()


def _scaling(variant: Variant) -> str:
    found = variant.scaling
    if found is None:
        return ""
    return "\n".join((f"{found.min}-{found.max}", *map(_policy, found.policies)))


def _policy(policy: Policy) -> str:
    value = "?" if policy.value is None else _number(policy.value)
    return f"{policy.measure} {value} of {_number(policy.target)} {policy.unit}".rstrip()


def _loads(endpoint: Endpoint) -> Iterator[Row]:
    several = len(endpoint.variants) > 1
    name = endpoint.name
    for it in endpoint.variants:
        load = it.load
        yield {
            "endpoint": name,
            "variant": it.name if several else "",
            "calls\na min": _number(load.calls_a_minute),
            "errors": _errors(load),
            "p50\nms": _number(load.latency_p50_ms),
            "p95\nms": _number(load.latency_p95_ms),
            "p99\nms": _number(load.latency_p99_ms),
            "over-\nhead ms": _number(load.overhead_ms),
            "CPU\n%": _number(load.cpu_percent),
            "mem\n%": _number(load.memory_percent),
            "GPU\n%": _number(load.gpu_percent),
            "GPU\nmem %": _number(load.gpu_memory_percent),
            "disk\n%": _number(load.disk_percent),
            "models": _number(load.loaded_models),
        }
        name = ""


def _errors(load: Load) -> str | Text:
    kinds = {"4XX": load.errors_4xx, "5XX": load.errors_5xx, "model": load.model_errors}
    found = [f"{count} {kind}" for kind, count in kinds.items() if count]
    if found:
        return Text("\n".join(found), "red")
    return "" if load.errors_4xx is None else "0"


def _models(models: Sequence[Model]) -> list[Row]:
    names = ["", *(it.endpoint for it in models)]
    return [
        {
            "endpoint": it.endpoint if it.endpoint != before else "",
            "model": it.name,
            "version": it.version if it.in_catalog else f"{it.version} (not in the catalog)",
            "archive": it.archive or "",
            "log\nerrors": Text(_number(it.log_errors), "red") if it.log_errors else "",
            "loaded": _loaded(it.loaded),
        }
        for it, before in zip(models, names, strict=False)
    ]


def _requests(series: Requests) -> Row:
    return {
        "endpoint": series.endpoint,
        "model": Text(printable(series.label)),
        "requests": series.result,
        "count": _number(series.count),
    }


def _loaded(places: Sequence[Loaded] | None) -> str:
    if places is None:
        return ""
    return "\n".join(map(_place, places)) or "nowhere"


def _place(place: Loaded) -> str:
    memory = "" if place.memory_bytes is None else f" {place.memory_bytes / MIB:.0f} MiB"
    state = "" if place.state == "loaded" else f" {place.state}"
    return f"{short(place.instance)}{memory}{state}"


def _alarm(alarm: Alarm, now: datetime) -> Row:
    return {
        "alarm": _severity(alarm),
        "endpoint": alarm.endpoint or "",
        "measure": alarm.measure or f"{alarm.name}: {_first_sentence(alarm.reason)}",
        "value": _with_unit(alarm.value, alarm.unit),
        "limit": _with_unit(alarm.limit, alarm.unit),
        "since": on_the_clock(alarm.since, now) if alarm.since else "",
        "runbook": alarm.section or "",
    }


def _severity(alarm: Alarm) -> Text:
    """Return how bad an alarm is, and of one that is not in ALARM its state."""
    if alarm.state != "ALARM" or alarm.severity is None:
        return _state(alarm.state)
    return Text(alarm.severity, "yellow" if alarm.severity == "warning" else "red")


def _with_unit(value: float | None, unit: str) -> str:
    return f"{_number(value)} {unit}".strip() if value is not None else ""


def _first_sentence(reason: str) -> str:
    """Return it without the data that it lists."""
    return re.split(r"(?<=[.!?])\s", re.sub(r" \[[^]]*\d[^]]*\]", "", reason), maxsplit=1)[0]


def _activity(activity: Activity, now: datetime) -> Row:
    return {
        "when": on_the_clock(activity.time, now),
        "endpoint": activity.endpoint,
        "what": activity.description,
        "cause": _cause(activity),
        "status": _state(activity.status),
    }


def _cause(activity: Activity) -> str:
    """Return which alarm of which policy it was, without what the endpoint's name says already."""
    found = _CAUSE.search(activity.cause)
    if found is None:
        return activity.cause
    ours = f"endpoint-{activity.endpoint}-variant-{activity.variant}-"
    return f"{found[1]} of {found[2].removeprefix(ours)}"


def _state(state: str) -> Text:
    return Text(state, COLOURS.get(state, "yellow"))


def _number(value: float | None) -> str:
    if value is None:
        return ""
    if 0 < abs(value) < 1:
        return f"{value:.2f}"
    return f"{value:.1f}".removesuffix(".0") if abs(value) < 100 else f"{value:.0f}"
