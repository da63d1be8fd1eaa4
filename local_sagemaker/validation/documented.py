"""Rules of AWS that botocore's models do not have: those of documented.yaml, and calculated ones.

Sources of the calculated rules are API references, and those of their messages are in
tests/validation/requests.yaml; own words are marked.
"""

import json
import math
import re
import time
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import jmespath
import yaml
from botocore.exceptions import ClientError
from botocore.utils import parse_timestamp

from local_sagemaker.errors import ApiError

Record = dict[str, Any]
Problems = Iterator[tuple[str, str]]

DAY = 86_400


def documented_problems(operation: str, request: Record, *, preceding: bool) -> Problems:
    """Yield message and code of the violated rules; the code is empty for that of the service.

    With `preceding`, only rules that precede the constraints of botocore's model are checked.
    """
    for rule in rules():
        applies = operation in rule["operations"] and (rule.get("precedes") or not preceding)
        if applies and _is_violated(rule, request):
            yield rule["message"].format_map(request), rule.get("code", "")
    if operation in CALCULATED and not preceding:
        yield from CALCULATED[operation](request)


def check_references(operation: str, request: Record, ask: Callable[[str, Record], Any]) -> None:
    """Raise `ApiError` for a resource that a request refers to, and that does not exist.

    `ask(operation, request)` sends a request to ministack, and raises `ClientError`.
    """
    for rule in rules():
        if operation in rule["operations"] and "needs" in rule:
            members = rule["needs"]["request"].items()
            inner = {name: jmespath.search(path, request) for name, path in members}
            try:
                if "if" not in rule or jmespath.search(rule["if"], request):
                    ask(rule["needs"]["operation"], inner)
            except ClientError:
                raise ApiError(rule["code"], rule["message"].format_map(request)) from None


@cache
def error_texts() -> dict[str, dict[str, str]]:
    """Return service -> pattern of ministack's error text -> AWS's text."""
    content = Path(__file__).with_name("error_texts.yaml").read_text()
    return dict(yaml.safe_load(content))


def correct_texts(service: str, error: bytes) -> bytes:
    """Return the body of an error response of ministack with AWS's texts."""
    text = error.decode()
    for pattern, replacement in error_texts()[service].items():
        text = re.sub(pattern, replacement, text)
    return text.encode()


@cache
def rules() -> list[Record]:
    """Return the rules of documented.yaml."""
    content = Path(__file__).with_name("documented.yaml").read_text()
    return list(yaml.safe_load(content))


def _is_violated(rule: Record, request: Record) -> bool:
    if "refused" in rule:
        return bool(jmespath.search(rule["refused"], request))
    return any(
        name in request and not re.fullmatch(pattern, request[name], re.ASCII)
        for name, pattern in rule.get("pattern", {}).items()
    )


def _metric_alarm(alarm: Record) -> Problems:
    """PutMetricAlarm: the metrics, the period, and the evaluated time.

    The words are those that AWS gave badmintoncryer/cdk-preflight; those of seven days follow them.
    """
    yield from _queries("Metrics", alarm.get("Metrics", []))
    if "Period" in alarm:
        if alarm["Period"] not in (10, 20, 30) and alarm["Period"] % 60:
            yield "Period must be 10, 20, 30 or a multiple of 60", ""
        limit = 7 * DAY if alarm["Period"] >= 3600 else DAY
        if alarm["Period"] * alarm.get("EvaluationPeriods", 1) > limit:
            span = "a day" if limit == DAY else "seven days"
            yield (
                f"Metrics cannot be checked across more than {span} (EvaluationPeriods * Period "
                f"must be <= {limit})",
                "",
            )


def _queries(member: str, queries: list[Record]) -> Problems:
    """Yield the problems of metric queries.

    Sources: influxdata/telegraf#5420, aws-solutions/quota-monitor-for-aws#171.
    """
    for number, query in enumerate(queries, 1):
        name = f"{member}.member.{number}"
        if not re.fullmatch("[a-z][a-zA-Z0-9_]*", query["Id"], re.ASCII):
            pattern = "^[a-z][a-zA-Z0-9_]*$"
            yield (
                f"The value {query['Id']} for parameter {name}.Id is not matching the expected "
                f"pattern {pattern}.",
                "",
            )
        if ("Expression" in query) == ("MetricStat" in query):  # own words
            yield f"{name} needs either Expression or MetricStat.", ""
        if "MetricStat" in query:
            yield from _invalid_periods([query["MetricStat"]["Period"]], (1, 5, 10, 20, 30))
            statistic = query["MetricStat"]["Stat"]
            if not _STATISTIC.fullmatch(statistic):  # own words
                yield f"The value {statistic} for parameter {name}.MetricStat.Stat is invalid.", ""
    if len({query["Id"] for query in queries}) < len(queries):
        yield f"The values for parameter id in {member} are not unique.", ""


_STATISTIC = re.compile(
    r"SampleCount|Average|Sum|Minimum|Maximum|IQM|(p|tm|wm|tc|ts)\d+(\.\d+)?|(TM|WM|TC|TS|PR)\(.+\)"
)
"""Source: CloudWatch user guide, "CloudWatch statistics definitions"."""


def _metric_data_queries(request: Record) -> Problems:
    """GetMetricData: the queries and the times. Source of the code: elastic/beats#32687."""
    yield from _queries("MetricDataQueries", request["MetricDataQueries"])
    yield from _times(request, "")


def _times(request: Record, code: str) -> Problems:
    start, end = (parse_timestamp(request[name]) for name in ("StartTime", "EndTime"))
    if start == end:
        yield "The parameter StartTime must not equal parameter EndTime.", code
    if start > end:
        yield "The parameter StartTime must be less than the parameter EndTime.", code


def _metric_statistics(query: Record) -> Problems:
    """GetMetricStatistics: the period, the times, and the number of data points."""
    code = "InvalidParameterValue"
    yield from _invalid_periods([query["Period"]], (1, 5, 10, 20, 30), code)
    yield from _times(query, code)
    start, end = (parse_timestamp(query[name]) for name in ("StartTime", "EndTime"))
    points = (end - start).total_seconds() // query["Period"]
    if points > 1440:
        yield (
            f"You have requested up to {points:.0f} datapoints, which exceeds the limit of 1440. "
            "You may reduce the datapoints requested by increasing Period, or decreasing the time "
            "range.",
            "InvalidParameterCombination",
        )


def _invalid_periods(periods: list[int], seconds: tuple[int, ...], code: str = "") -> Problems:
    for period in periods:
        if period not in seconds and period % 60:  # own words
            yield f"Invalid metric period: {period}. Valid are {seconds} and multiples of 60.", code


def _metric_data(request: Record) -> Problems:
    """PutMetricData: values, counts and times; source of the last: aws-robotics#46."""
    for number, datum in enumerate(request.get("MetricData", []), 1):
        name = f"MetricData.member.{number}"
        values = [*datum.get("Values", []), datum.get("Value", 0.0)]
        if any(not math.isfinite(float(value)) for value in values):  # own words
            yield f"The value of {name} must be a finite number.", "InvalidParameterValue"
        if datum.get("StorageResolution", 60) not in (1, 60):  # own words
            yield f"{name}.StorageResolution must be 1 or 60.", "InvalidParameterValue"
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
        age = time.time() - parse_timestamp(datum.get("Timestamp", time.time())).timestamp()
        if not -2 * 3600 <= age <= 14 * DAY:
            message = "must specify a time within the past two weeks."
            yield f"The parameter {name}.Timestamp {message}", "InvalidParameterValue"


def _log_events(request: Record) -> Problems:
    """PutLogEvents: "The log events in the batch must be in chronological order"."""
    times = [event["timestamp"] for event in request["logEvents"]]
    if times != sorted(times):
        yield "Log events in a single PutLogEvents request must be in chronological order.", ""
    if times and max(times) - min(times) > DAY * 1000:  # own words
        yield "The batch of log events in a single PutLogEvents request cannot span 24 hours.", ""


def _json(member: str, code: str, message: str, request: Record) -> Problems:
    """A member that is JSON."""
    try:
        json.loads(request.get(member, "{}"))
    except ValueError as error:
        yield message.format(error), code


def _policy_document(member: str, request: Record) -> Problems:
    """IAM's policies, which have a Statement. Source of the code: API reference of CreateRole."""
    code = "MalformedPolicyDocument"
    yield from _json(member, code, "This policy contains invalid Json", request)
    if "Statement" not in json.loads(request[member]):  # own words
        yield "Missing required field Statement", code


def _state_machine(request: Record) -> Problems:
    """The definition of a state machine: JSON whose states and transitions exist.

    Source of the messages: aws/aws-step-functions-data-science-sdk-python.
    """
    code, message = "InvalidDefinition", "Invalid State Machine Definition: '{}'"
    invalid_json = message.format("INVALID_JSON_DESCRIPTION: {}")
    yield from _json("definition", code, invalid_json, request)
    definition = json.loads(request.get("definition", '{"StartAt": "", "States": {"": {}}}'))
    states = definition.get("States") if isinstance(definition, dict) else None
    if not states or "StartAt" not in definition:
        text = "SCHEMA_VALIDATION_FAILED: These fields are required: [StartAt, States] at /"
        yield message.format(text), code
        return
    targets = {"/StartAt": definition["StartAt"]}
    for name, state in states.items():
        if "definition" in request and state.get("Type") not in _STATE_TYPES:
            text = f"SCHEMA_VALIDATION_FAILED: Value is not a state type at /States/{name}/Type"
            yield message.format(text), code
        if "Next" in state:
            targets[f"/States/{name}/Next"] = state["Next"]
    for path, target in targets.items():
        if target not in states:
            text = f"MISSING_TRANSITION_TARGET: Missing 'Next' target: {target} at {path}"
            yield message.format(text), code


_STATE_TYPES = ("Choice", "Fail", "Map", "Parallel", "Pass", "Succeed", "Task", "Wait")


def _allowed_pattern(parameter: Record) -> Problems:
    """PutParameter: the value matches AllowedPattern (its API reference)."""
    pattern = parameter.get("AllowedPattern", "")
    try:
        is_allowed = re.search(pattern, parameter["Value"])
    except re.error:
        yield f"The regular expression {pattern} is not valid.", "InvalidAllowedPatternException"
        return
    if not is_allowed:
        message = f"Parameter value, cannot be validated against allowedPattern: {pattern}"
        yield message, "ParameterPatternMismatchException"


def _steps(policy: Record) -> Problems:
    """PutScalingPolicy: "the ranges of your step adjustments can't overlap or have a gap"."""
    steps = policy.get("StepScalingPolicyConfiguration", {}).get("StepAdjustments", [])
    ranges = sorted(
        (
            step.get("MetricIntervalLowerBound", -math.inf),
            step.get("MetricIntervalUpperBound", math.inf),
        )
        for step in steps
    )
    if any(lower >= upper for lower, upper in ranges):  # own words
        yield "The upper bound of a step adjustment must be above the lower bound.", ""
    if any(first[1] != second[0] for first, second in pairwise(ranges)):
        yield "The ranges of the step adjustments overlap, or have a gap.", ""  # own words


def _template(request: Record) -> Problems:
    """A JSON template has resources."""
    try:
        template = json.loads(request.get("TemplateBody", '{"Resources": 1}'))
    except ValueError:  # YAML
        return
    if not template.get("Resources"):
        yield "Template format error: At least one Resources member must be defined.", ""


def _session_tags(request: Record) -> Problems:
    """AssumeRole: tags."""
    keys = [tag["Key"].lower() for tag in request.get("Tags", [])]
    if len(set(keys)) < len(keys):
        message = "Duplicate tag keys found. Please note that Tag keys are case insensitive."
        yield message, "InvalidParameterValue"
    if {key.lower() for key in request.get("TransitiveTagKeys", [])} - set(keys):
        message = "The specified transitive tag key must be included in the requested tags."
        yield message, "InvalidParameterValue"


_ROLE_POLICY = partial(_policy_document, "PolicyDocument")
_OUTPUT = ("output", "InvalidOutput", "Invalid Output: '{}'")
CALCULATED: dict[str, Callable[[Record], Problems]] = {
    "application-autoscaling:PutScalingPolicy": _steps,
    "cloudformation:CreateStack": _template,
    "cloudwatch:GetMetricData": _metric_data_queries,
    "cloudwatch:GetMetricStatistics": _metric_statistics,
    "cloudwatch:PutDashboard": partial(
        _json,
        "DashboardBody",
        "InvalidParameterInput",
        "The dashboard body is invalid, there are 1 validation errors: {}",
    ),
    "cloudwatch:PutMetricAlarm": _metric_alarm,
    "cloudwatch:PutMetricData": _metric_data,
    "iam:CreatePolicy": _ROLE_POLICY,
    "iam:CreateRole": partial(_policy_document, "AssumeRolePolicyDocument"),
    "iam:PutRolePolicy": _ROLE_POLICY,
    "iam:UpdateAssumeRolePolicy": _ROLE_POLICY,
    "lambda:Invoke": partial(
        _json,
        "Payload",
        "InvalidRequestContentException",
        "Could not parse request body into json: {}",
    ),
    "logs:PutLogEvents": _log_events,
    "ssm:PutParameter": _allowed_pattern,
    "stepfunctions:CreateStateMachine": _state_machine,
    "stepfunctions:SendTaskSuccess": partial(_json, *_OUTPUT),
    "stepfunctions:StartExecution": partial(
        _json, "input", "InvalidExecutionInput", "Invalid State Machine Execution Input: '{}'"
    ),
    "stepfunctions:UpdateStateMachine": _state_machine,
    "sts:AssumeRole": _session_tags,
}
"""Operation -> calculated rules."""
