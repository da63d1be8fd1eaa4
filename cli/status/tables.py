"""The status report as tables for a terminal of 80 columns."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from cli.printable import unbroken_line
from cli.status.report import (
    Alarm,
    CatalogModel,
    ComponentStatus,
    EndpointStatus,
    Report,
    SuspendedScaling,
)
from review.escaping import printable

COLOURS = {"InService": "green", "Failed": "red", "OutOfService": "red", "ALARM": "red"}
"""State -> colour (API references: DescribeEndpoint, DescribeAlarms); others are transitional."""

Row = dict[str, str | Text]
"""Header -> cell; the rows of a table have the same headers."""


def tables(report: Report) -> RenderableType:
    """Return the tables of a report; empty sections are omitted."""
    return Group(*_sections(report))


def _sections(report: Report) -> Iterator[RenderableType]:
    if report.endpoints:
        yield _table([row for endpoint in report.endpoints for row in _endpoint_rows(endpoint)])
    else:
        yield Text("no endpoint is deployed")
    resources: list[EndpointStatus | ComponentStatus] = [*report.endpoints, *report.components]
    for resource in resources:
        if resource.reason:
            yield unbroken_line(f"{resource.name} {resource.status}: {resource.reason}", "red")
    for suspended in report.suspended_scaling:
        yield unbroken_line(_suspended_text(suspended), "yellow")
    if report.differences:
        yield _title("differences from the last deployment")
    for problem in report.differences:
        yield unbroken_line(f"{problem.subject}: {problem.text}", "red")
        yield unbroken_line(f"  {problem.command}")
    if report.models:
        yield _title("models")
        yield _table(_model_rows(report.models))
    if report.components:
        yield _title("inference components")
        yield _table([_component_row(component) for component in report.components])
    if report.alarms:
        yield _title("alarms that are not OK")
        yield _table([_alarm_row(alarm) for alarm in report.alarms])
    for denied in report.denied:
        yield unbroken_line(f"not shown: {denied}", "yellow")


def _title(text: str) -> Text:
    return Text(f"\n{text}", "bold")


def _table(rows: Sequence[Row]) -> Table:
    """Return a table without the columns that are empty in every row."""
    table = Table(box=None, pad_edge=False)
    headers = [header for header in rows[0] if any(row[header] for row in rows)]
    for header in headers:
        table.add_column(header, overflow="fold")
    for row in rows:
        table.add_row(*(row[header] for header in headers))
    return table


def _endpoint_rows(endpoint: EndpointStatus) -> Iterator[Row]:
    """Yield a row for each variant; the first one has the endpoint's name and status."""
    name, status = endpoint.name, _state(endpoint.status)
    several = len(endpoint.variants) > 1
    for variant in endpoint.variants or (None,):
        weight = variant.weight if variant and several else None
        types = variant.instance_types if variant else {}
        yield {
            "endpoint": name,
            "status": status,
            "variant": variant.name if variant else "",
            "weight": "" if weight is None else f"{weight:g}",
            "instances": f"{variant.instances}/{variant.desired_instances}" if variant else "",
            "types": "\n".join(f"{count} {name}" for name, count in types.items()),
        }
        name, status = "", Text()


def _suspended_text(scaling: SuspendedScaling) -> str:
    subject = " ".join(name for name in (scaling.resource, scaling.variant) if name)
    return f"{subject}: scaling is suspended: {', '.join(scaling.suspended)}"


def _model_rows(models: Sequence[CatalogModel]) -> list[Row]:
    names = ["", *(model.endpoint for model in models)]
    return [
        {
            "endpoint": model.endpoint if model.endpoint != previous else "",
            "model": model.name,
            "version": model.version,
            "archive": model.archive or "",
        }
        for model, previous in zip(models, names, strict=False)
    ]


def _component_row(component: ComponentStatus) -> Row:
    return {
        "component": component.name,
        "status": _state(component.status),
        "copies": f"{component.copies}/{component.desired_copies}",
    }


def _alarm_row(alarm: Alarm) -> Row:
    since = _local_time(alarm.since) if alarm.since else ""
    text = alarm.description or f"{alarm.name}: {alarm.reason}"
    return {"state": _state(alarm.state), "since": since, "alarm": Text(printable(text))}


def _local_time(time: datetime) -> str:
    """Return a time in the local time zone, with the date unless it is today."""
    local, today = time.astimezone(), datetime.now(UTC).astimezone().date()
    return f"{local:%H:%M:%S}" if local.date() == today else f"{local:%F %H:%M:%S}"


def _state(state: str) -> Text:
    return Text(state, COLOURS.get(state, "yellow"))
