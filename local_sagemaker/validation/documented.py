"""Rules of services that ministack answers; botocore's models do not have them.

Each function of `RULES` yields the problems of a request: a message, or an `ApiError` if AWS's code
differs from that of the service's other errors. Sources are API references unless stated otherwise;
AWS's words were not found, except for those in tests/recorded.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from botocore.utils import parse_timestamp

from local_sagemaker.errors import ApiError
from local_sagemaker.validation.model import ERROR_CODES

Record = dict[str, Any]
Problems = Iterator[str | ApiError]

DAY = 86_400
_ROLE = re.compile(r"arn:aws[\w-]*:iam::\d{12}:role/[\w+=,.@/-]+")
_PARAMETER = re.compile(r"[\w./-]+", re.ASCII)
_STANDARD_BYTES, _ADVANCED_BYTES, _MAX_LEVELS = 4096, 8192, 15


def check_documented(service: str, operation: str, request: Record) -> None:
    """Raise `ApiError` for the first problem of a request."""
    rule = RULES.get(f"{service}:{operation}")
    if rule and (problem := next(iter(rule(request)), None)):
        if isinstance(problem, ApiError):
            raise problem
        raise ApiError(ERROR_CODES.get(service, "ValidationException"), problem)


def _metric_alarm(request: Record) -> Problems:
    """PutMetricAlarm: periods, data points, and the members of one kind of alarm."""
    metric, periods = "MetricName" in request, request["EvaluationPeriods"]
    if metric == ("Metrics" in request):
        yield "Specify either MetricName or Metrics."
    if request.get("DatapointsToAlarm", 1) > periods:
        yield "DatapointsToAlarm must be less than or equal to EvaluationPeriods."
    if metric:
        if missing := {"Namespace", "Period", "Threshold"} - request.keys():
            yield f"{min(missing)} is required."
        if ("Statistic" in request) == ("ExtendedStatistic" in request):
            yield "Specify either Statistic or ExtendedStatistic."
        yield from _period(request["Period"])
        limit = 7 * DAY if request["Period"] >= 3600 else DAY
        if request["Period"] * periods > limit:
            yield f"EvaluationPeriods multiplied by Period cannot exceed {limit} seconds."


def _metrics(request: Record) -> Problems:
    """GetMetricStatistics and GetMetricData: periods, and the number of data points."""
    stats = (query.get("MetricStat", {}) for query in request.get("MetricDataQueries", []))
    for period in (request.get("Period"), *(stat.get("Period") for stat in stats)):
        if period is not None:
            yield from _period(period, seconds=(1, 5, 10, 20, 30))
    start, end = (parse_timestamp(request[name]) for name in ("StartTime", "EndTime"))
    if start >= end:
        message = "The parameter StartTime must be less than the parameter EndTime."
        yield ApiError("InvalidParameterValue", message)
    if (
        "Period" in request
        and (points := (end - start).total_seconds() // request["Period"]) > 1440
    ):
        yield ApiError(
            "InvalidParameterCombination",
            f"You have requested up to {points:.0f} datapoints, which exceeds the limit of 1440. "
            "You may reduce the datapoints requested by increasing Period, or decreasing the time "
            "range.",
        )


def _period(period: int, seconds: tuple[int, ...] = (10, 20, 30)) -> Problems:
    if period not in seconds and period % 60:
        listed = ", ".join(map(str, seconds))
        yield f"Invalid metric period: {period}. Valid are {listed} and multiples of 60."


def _metric_data(request: Record) -> Problems:
    """PutMetricData: one kind of values in each datum, with one count for each value."""
    for number, datum in enumerate(request.get("MetricData", []), 1):
        name = f"MetricData.member.{number}"
        kinds = [kind for kind in ("Value", "Values", "StatisticValues") if kind in datum]
        if not kinds:
            yield f"{name} needs Value, Values or StatisticValues."
        if len(kinds) > 1:
            both = f"{name}.{kinds[0]} and {name}.{kinds[1]}"
            message = f"The parameters {both} are mutually exclusive and you have specified both."
            yield ApiError("InvalidParameterCombination", message)
        if "Counts" in datum and len(datum["Counts"]) != len(datum.get("Values", [])):
            both = f"{name}.Values and {name}.Counts"
            message = f"The parameters {both} must be of the same size."
            yield ApiError("InvalidParameterValue", message)


def _parameter(request: Record) -> Problems:
    """PutParameter: names, levels, and the sizes of tiers."""
    name = request["Name"]
    if not _PARAMETER.fullmatch(name):
        yield "Parameter name: can only contain the characters a-z, A-Z, 0-9, _, ., - and /."
    if "/" in name and not name.startswith("/"):
        yield "Parameter name must be a fully qualified name: begin it with a slash."
    if re.match(r"/?(aws|ssm)", name, re.IGNORECASE):
        yield 'Parameter name: can\'t be prefixed with "aws" or "ssm" (case-insensitive).'
    if name.strip("/").count("/") >= _MAX_LEVELS:
        yield f"A parameter hierarchy can have at most {_MAX_LEVELS} levels."
    tier, size = request.get("Tier", "Standard"), len(request["Value"].encode())
    if not size:
        yield "Value must have length greater than or equal to 1."
    if size > (_STANDARD_BYTES if tier == "Standard" else _ADVANCED_BYTES):
        yield (
            f"{tier} tier parameters support a maximum parameter value of "
            f"{_STANDARD_BYTES if tier == 'Standard' else _ADVANCED_BYTES} characters."
        )
    if "Tags" in request and request.get("Overwrite"):
        yield "Invalid request: tags and overwrite can't be used together."


def _parameter_path(request: Record) -> Problems:
    """GetParametersByPath."""
    if not request["Path"].startswith("/"):
        yield 'The parameter doesn\'t meet the parameter name requirements: it must begin with "/".'


def _role(member: str) -> Callable[[Record], Problems]:
    """Return the rule that a member, if present, is the ARN of a role."""

    def rule(request: Record) -> Problems:
        arn = request.get(member)
        if arn is not None and not _ROLE.fullmatch(arn):
            yield f"Invalid {member}: {arn!r} is not the ARN of a role."

    return rule


def _log_query(request: Record) -> Problems:
    """FilterLogEvents and GetLogEvents: a range that does not end before it begins."""
    if request.get("startTime", 0) > request.get("endTime", float("inf")):
        yield "startTime must be at most endTime."


def _log_events(request: Record) -> Problems:
    """PutLogEvents: "The log events in the batch must be in chronological order"."""
    times = [event["timestamp"] for event in request["logEvents"]]
    if times != sorted(times):
        yield "Log events in a single PutLogEvents request must be in chronological order."
    if times and times[-1] - times[0] > DAY * 1000:
        yield "The batch of log events in a single PutLogEvents request cannot span 24 hours."


def _retention(request: Record) -> Problems:
    """PutRetentionPolicy: the possible values."""
    possible = (
        1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
        3288, 3653,
    )  # fmt: skip
    if request["retentionInDays"] not in possible:
        yield f"retentionInDays must be one of {', '.join(map(str, possible))}."


def _rule(request: Record) -> Problems:
    """EventBridge's PutRule."""
    if not request.keys() & {"ScheduleExpression", "EventPattern"}:
        yield "Either EventPattern or ScheduleExpression must be specified."


RULES: dict[str, Callable[[Record], Problems]] = {
    "cloudformation:CreateStack": _role("RoleARN"),
    "cloudwatch:GetMetricData": _metrics,
    "cloudwatch:GetMetricStatistics": _metrics,
    "cloudwatch:PutMetricAlarm": _metric_alarm,
    "cloudwatch:PutMetricData": _metric_data,
    "codebuild:CreateProject": _role("serviceRole"),
    "codebuild:UpdateProject": _role("serviceRole"),
    "events:PutRule": _rule,
    "logs:FilterLogEvents": _log_query,
    "logs:GetLogEvents": _log_query,
    "logs:PutLogEvents": _log_events,
    "logs:PutRetentionPolicy": _retention,
    "ssm:GetParametersByPath": _parameter_path,
    "ssm:PutParameter": _parameter,
    "stepfunctions:CreateStateMachine": _role("roleArn"),
    "stepfunctions:UpdateStateMachine": _role("roleArn"),
}
