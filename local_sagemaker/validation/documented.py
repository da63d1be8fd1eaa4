"""Rules of AWS that botocore's models do not have.

A rule is a condition that violates it, AWS's message with members of the request, and AWS's code
if it is not that of the service's other errors. Sources of the messages are in
tests/validation/refused.yaml. No source was found for those marked "own words", whose rules are in
API references.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from botocore.utils import parse_timestamp

from local_sagemaker.environment import ACCOUNT

Record = dict[str, Any]
Rule = tuple[Callable[[Record], Any], str] | tuple[Callable[[Record], Any], str, str]

DAY = 86_400
_RETENTION_DAYS = [
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922,
    3288, 3653,
]  # fmt: skip


def documented_problems(service: str, operation: str, request: Record) -> Iterator[tuple[str, str]]:
    """Yield message and code of the violated rules; the code is empty for that of the service."""
    key = f"{service}:{operation}"
    for is_violated, message, *code in RULES.get(key, ()):
        if is_violated(request):
            yield message.format_map(request), "".join(code)
    yield from FUNCTIONS.get(key, lambda _: ())(request)


def _lacks(*names: str) -> Callable[[Record], bool]:
    return lambda request: not request.keys() & set(names)


def _differs(name: str, pattern: str) -> Callable[[Record], bool]:
    return lambda request: name in request and not re.fullmatch(pattern, request[name], re.ASCII)


def _tag_keys(request: Record) -> list[str]:
    return [tag["Key"].lower() for tag in request.get("Tags", [])]


_ARN = r"arn:[^:]+:[^:]+:[^:]*:[^:]*:.+"
_ROLE = r"arn:aws[\w-]*:iam::\d{12}:role/[\w+=,.@/-]+"
_TABLE_NAME: Rule = (
    lambda request: not 3 <= len(request["TableName"]) <= 255,
    "TableName must be at least 3 characters long and at most 255 characters long",
)
_OWN_ROLE: Rule = (
    _differs("serviceRole", f"arn:aws[a-z-]*:iam::{ACCOUNT}:role/.+"),
    "Invalid service role: Service role account ID does not match caller's account",
)
_STATE_MACHINE_ROLE: Rule = (
    _differs("roleArn", _ROLE),
    "Invalid Role Arn: '{roleArn}'",
    "InvalidArn",
)
_LOG_RANGE: Rule = (
    lambda request: request.get("startTime", 0) > request.get("endTime", float("inf")),
    "startTime must be at most endTime.",  # own words
)

RULES: dict[str, tuple[Rule, ...]] = {
    "cloudformation:CreateStack": (
        (_differs("RoleARN", _ROLE), "Role {RoleARN} is invalid or cannot be assumed"),
    ),
    "cloudformation:DescribeChangeSet": (
        (
            lambda request: "StackName" not in request and request["ChangeSetName"][:4] != "arn:",
            "StackName must be specified if ChangeSetName is not specified as an ARN.",
        ),
    ),
    "cloudformation:UpdateStack": (
        (
            _lacks("TemplateBody", "TemplateURL", "UsePreviousTemplate"),
            "Either Template URL or Template Body must be specified.",
        ),
    ),
    "cloudwatch:PutDashboard": (
        (
            _differs("DashboardName", "[A-Za-z0-9_-]+"),
            "The value for field DashboardName contains invalid characters. It can only contain "
            "alphanumerics, dash (-) and underscore (_).\n",
            "InvalidParameterValue",
        ),
    ),
    "codebuild:CreateProject": (_OWN_ROLE,),
    "codebuild:UpdateProject": (_OWN_ROLE,),
    "dynamodb:CreateTable": (_TABLE_NAME,),
    "dynamodb:UpdateTable": (_TABLE_NAME,),
    "events:PutRule": (
        (
            _lacks("EventPattern", "ScheduleExpression"),
            "Parameter(s) EventPattern or ScheduleExpression must be specified.",
        ),
    ),
    "iam:CreateRole": (
        (
            _differs("Path", "/|/[!-~]+/"),
            "The specified value for path is invalid. It must begin and end with / and "
            "contain only alphanumeric characters and/or / characters.",
        ),
    ),
    "logs:CreateLogGroup": (
        (
            lambda request: request["logGroupName"].lower().startswith("aws/"),
            "Log groups starting with AWS/ are reserved for AWS.",
        ),
    ),
    "logs:DescribeLogGroups": (
        (
            lambda request: {"logGroupNamePrefix", "logGroupNamePattern"} <= request.keys(),
            "LogGroup name prefix and LogGroup name pattern are mutually exclusive parameters.",
        ),
    ),
    "logs:FilterLogEvents": (_LOG_RANGE,),
    "logs:GetLogEvents": (_LOG_RANGE,),
    "logs:PutRetentionPolicy": (
        (
            lambda request: request["retentionInDays"] not in _RETENTION_DAYS,
            f"Invalid retention value. Valid values are: {_RETENTION_DAYS}",
        ),
    ),
    "secretsmanager:DeleteSecret": (
        (
            lambda request: not 7 <= request.get("RecoveryWindowInDays", 30) <= 30,
            "RecoveryWindowInDays value must be between 7 and 30 days (inclusive).",
            "InvalidParameterException",
        ),
    ),
    "sns:CreateTopic": (
        (_differs("Name", r"[\w-]{1,256}(\.fifo)?"), "Invalid parameter: Topic Name"),
    ),
    "sns:Publish": (
        (_differs("Subject", "[!-~][ -~]{0,99}"), "Invalid parameter: Subject"),
        (
            lambda request: ":" not in request.get("TopicArn", ":"),
            "Invalid parameter: TopicArn Reason: An ARN must have at least 6 elements, not 1",
        ),
    ),
    "ssm:GetParametersByPath": (
        (
            _differs("Path", r"/[\w./-]*"),
            "The parameter doesn't meet the parameter name requirements. The parameter name must "
            'begin with a forward slash "/". It can\'t be prefixed with "aws" or "ssm" '
            "(case-insensitive). It must use only letters, numbers, or the following symbols: . "
            "(period), - (hyphen), _ (underscore). Special characters are not allowed. All "
            'sub-paths, if specified, must use the forward slash symbol "/". Valid example: '
            "/get/parameters2-/by1./path0_.",
        ),
    ),
    "ssm:PutParameter": (
        (
            _differs("Name", "(?!(?i:/?aws)).*"),
            "No access to reserved parameter name: {Name}.",
            "AccessDeniedException",
        ),
        (
            _differs("Name", "(?!(?i:/?ssm)).*"),
            'Parameter name: can\'t be prefixed with "ssm" (case-insensitive).',
        ),
        (_differs("Name", "/.*|[^/]*"), "Parameter name must be a fully qualified name"),
        (
            _differs("Name", r"[\w./-]+"),  # own words
            "Parameter name: can only contain the characters a-z, A-Z, 0-9, _, ., - and /.",
        ),
        (
            lambda request: request["Name"].strip("/").count("/") >= 15,  # own words
            "A parameter hierarchy can have at most 15 levels.",
            "HierarchyLevelLimitExceededException",
        ),
        (
            lambda request: (
                len(request["Value"].encode()) > 4096
                and request.get("Tier", "Standard") == "Standard"
            ),
            "Standard tier parameters support a maximum parameter value of 4096 characters. To "
            "create a larger parameter value, upgrade the parameter to use the advanced-parameter "
            "tier. For more information, see https://docs.aws.amazon.com/systems-manager/latest/"
            "userguide/parameter-store-advanced-parameters.html",
        ),
        (
            lambda request: len(request["Value"].encode()) > 8192,
            "The specified parameter value is too large. Advanced-tier parameters support a "
            "maximum parameter value of 8192 characters.",
        ),
        (lambda request: not request["Value"], "Value must not be empty."),  # own words
        (
            lambda request: "Tags" in request and request.get("Overwrite"),
            "Invalid request: tags and overwrite can't be used together.",  # own words
        ),
    ),
    "stepfunctions:CreateStateMachine": (_STATE_MACHINE_ROLE,),
    "stepfunctions:UpdateStateMachine": (_STATE_MACHINE_ROLE,),
    "sts:AssumeRole": (
        (_differs("RoleArn", _ARN), "{RoleArn} is invalid"),
        (
            lambda request: len(set(_tag_keys(request))) < len(_tag_keys(request)),
            "Duplicate tag keys found. Please note that Tag keys are case insensitive.",
            "InvalidParameterValue",
        ),
        (
            lambda request: (
                {key.lower() for key in request.get("TransitiveTagKeys", [])}
                - set(_tag_keys(request))
            ),
            "The specified transitive tag key must be included in the requested tags.",
            "InvalidParameterValue",
        ),
    ),
}


def _metric_alarm(alarm: Record) -> Iterator[tuple[str, str]]:
    """PutMetricAlarm: periods, data points, and the members of one kind of alarm."""
    if alarm.get("DatapointsToAlarm", 1) > alarm["EvaluationPeriods"]:
        yield "DatapointsToAlarm must be less than or equal to EvaluationPeriods.", ""  # own words
    if "Metrics" in alarm:
        if "MetricName" in alarm:
            yield "Specify either MetricName or Metrics.", ""  # own words
        return
    for member in ("MetricName", "Namespace", "Period", "Threshold"):
        if member not in alarm:
            yield f"{member} must not be null", ""
            return
    if ("Statistic" in alarm) == ("ExtendedStatistic" in alarm):
        yield "Specify either Statistic or ExtendedStatistic.", ""  # own words
    yield from _invalid_periods([alarm["Period"]], (10, 20, 30))
    limit = 7 * DAY if alarm["Period"] >= 3600 else DAY
    if alarm["Period"] * alarm["EvaluationPeriods"] > limit:  # own words
        yield f"EvaluationPeriods multiplied by Period cannot exceed {limit} seconds.", ""


def _metrics(query: Record) -> Iterator[tuple[str, str]]:
    """GetMetricStatistics and GetMetricData: periods, and the number of data points."""
    metrics = [query, *(part.get("MetricStat", {}) for part in query.get("MetricDataQueries", []))]
    periods = [metric["Period"] for metric in metrics if "Period" in metric]
    yield from _invalid_periods(periods, (1, 5, 10, 20, 30))
    start, end = (parse_timestamp(query[name]) for name in ("StartTime", "EndTime"))
    if start >= end:
        message = "The parameter StartTime must be less than the parameter EndTime."
        yield message, "InvalidParameterValue"
    points = (end - start).total_seconds() // query["Period"] if query.get("Period") else 0
    if points > 1440:
        yield (
            f"You have requested up to {points:.0f} datapoints, which exceeds the limit of 1440. "
            "You may reduce the datapoints requested by increasing Period, or decreasing the time "
            "range.",
            "InvalidParameterCombination",
        )


def _invalid_periods(periods: Iterable[int], seconds: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    for period in periods:
        if period not in seconds and period % 60:  # own words
            yield f"Invalid metric period: {period}. Valid are {seconds} and multiples of 60.", ""


def _metric_data(request: Record) -> Iterator[tuple[str, str]]:
    """PutMetricData: one kind of values in each datum, with one count for each value."""
    for number, datum in enumerate(request.get("MetricData", []), 1):
        name = f"MetricData.member.{number}"
        kinds = [kind for kind in ("Value", "Values", "StatisticValues") if kind in datum]
        if not kinds:
            yield f"{name} needs Value, Values or StatisticValues.", ""  # own words
        if len(kinds) > 1:
            both = f"{name}.{kinds[0]} and {name}.{kinds[1]}"
            message = f"The parameters {both} are mutually exclusive and you have specified both."
            yield message, "InvalidParameterCombination"
        if "Counts" in datum and len(datum["Counts"]) != len(datum.get("Values", [])):
            both = f"{name}.Values and {name}.Counts"
            yield f"The parameters {both} must be of the same size.", "InvalidParameterValue"


def _log_events(request: Record) -> Iterator[tuple[str, str]]:
    """PutLogEvents: "The log events in the batch must be in chronological order"."""
    times = [event["timestamp"] for event in request["logEvents"]]
    if times != sorted(times):
        yield "Log events in a single PutLogEvents request must be in chronological order.", ""
    if times and max(times) - min(times) > DAY * 1000:  # own words
        yield "The batch of log events in a single PutLogEvents request cannot span 24 hours.", ""


FUNCTIONS: dict[str, Callable[[Record], Iterable[tuple[str, str]]]] = {
    "cloudwatch:GetMetricData": _metrics,
    "cloudwatch:GetMetricStatistics": _metrics,
    "cloudwatch:PutMetricAlarm": _metric_alarm,
    "cloudwatch:PutMetricData": _metric_data,
    "logs:PutLogEvents": _log_events,
}
