"""Rules of AWS that botocore's models do not have: those of documented.yaml, and calculated ones.

Sources of the calculated rules are API references, and those of their messages are in
tests/validation/requests.yaml; own words are marked.
"""

import json
import math
import operator
import re
import time
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import jmespath
import yaml
from botocore.exceptions import ClientError
from botocore.utils import parse_timestamp
from jmespath.functions import Functions, signature

from local_sagemaker.errors import ApiError

Record = dict[str, Any]
Problems = Iterator[tuple[str, str]]

ANY: Record = {"types": []}
OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.floordiv,
    "%": operator.mod,
}


class TableFunctions(Functions):
    """The functions of documented.yaml that JMESPath lacks."""

    @signature(ANY)
    def _func_json(self, text: str) -> Any:
        """Return the content of JSON; null if the text is no JSON."""
        try:
            return json.loads(text)
        except (TypeError, ValueError):
            return None

    @signature({"types": ["array"]})
    def _func_unique(self, elements: list[Any]) -> list[Any]:
        return list(dict.fromkeys(elements))

    @signature({"types": ["array"]})
    def _func_lower(self, texts: list[str]) -> list[str]:
        return [text.lower() for text in texts]

    @signature(ANY, {"types": ["string"]}, ANY)
    def _func_calculate(self, left: float | None, sign: str, right: float | None) -> float | None:
        """Return the result for two numbers; null if one is missing."""
        return None if left is None or right is None else float(OPERATORS[sign](left, right))

    @signature({"types": ["string"]})
    def _func_arn_region(self, arn: str) -> str:
        return (*arn.split(":"), "", "", "")[3]

    @signature(ANY)
    def _func_seconds(self, timestamp: Any) -> float:
        """Return a timestamp as the number of seconds since 1970."""
        return parse_timestamp(timestamp).timestamp()

    @signature()
    def _func_now(self) -> float:
        return time.time()


OPTIONS = jmespath.Options(custom_functions=TableFunctions())


def documented_problems(operation: str, request: Record, *, preceding: bool) -> Problems:
    """Yield message and code of the violated rules; the code is empty for that of the service.

    With `preceding`, only rules that precede the constraints of botocore's model are checked.
    """
    for rule in rules():
        if operation in rule["operations"] and bool(rule.get("precedes")) is preceding:
            for subject in _subjects(rule, request):
                if _is_violated(rule, subject):
                    yield rule["message"].format_map(subject), rule.get("code", "")
    if operation in CALCULATED and not preceding:
        yield from CALCULATED[operation](request)


def check_references(operation: str, request: Record, ask: Callable[[str, Record], Any]) -> None:
    """Raise `ApiError` for a resource that a request refers to, and that does not exist.

    `ask(operation, request)` sends a request to ministack, and raises `ClientError`.
    """
    for rule in rules():
        if operation in rule["operations"] and "needs" in rule:
            members = rule["needs"]["request"].items()
            inner = {name: _search(path, request) for name, path in members}
            try:
                if "if" not in rule or _search(rule["if"], request):
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


def _search(expression: str, request: Any) -> Any:
    return jmespath.search(expression, request, OPTIONS)


def _subjects(rule: Record, request: Record) -> Iterator[Record]:
    """Yield the request, or the elements that a rule is about, with their `number` from 1."""
    if "each" not in rule:
        yield request
        return
    for number, element in enumerate(_search(rule["each"], request) or (), 1):
        yield {**element, "number": number}


def _is_violated(rule: Record, subject: Record) -> bool:
    if "refused" in rule:
        return bool(_search(rule["refused"], subject))
    return any(
        (value := _search(path, subject)) is not None and not re.fullmatch(pattern, value, re.ASCII)
        for path, pattern in rule.get("pattern", {}).items()
    )


def _state_machine(request: Record) -> Problems:
    """States of the definition of a state machine: their types, and the targets of transitions.

    Source of the messages: aws/aws-step-functions-data-science-sdk-python.
    """
    if "definition" not in request:
        return
    code, message = "InvalidDefinition", "Invalid State Machine Definition: '{}'"
    definition = json.loads(request["definition"])
    states, targets = definition["States"], {"/StartAt": definition["StartAt"]}
    for name, state in states.items():
        if state.get("Type") not in _STATE_TYPES:
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


CALCULATED: dict[str, Callable[[Record], Problems]] = {
    "application-autoscaling:PutScalingPolicy": _steps,
    "ssm:PutParameter": _allowed_pattern,
    "stepfunctions:CreateStateMachine": _state_machine,
    "stepfunctions:UpdateStateMachine": _state_machine,
}
"""Operation -> a function with its rules, which are checked after those of the table."""
