"""`aws` for tests, which have no AWS CLI: its arguments, by botocore's models, for one call.

An operation, an option or a waiter that AWS's API does not have is an error, as in the CLI. Waiters
ask every second.
"""

import json
import sys
from collections.abc import Iterator
from datetime import datetime
from itertools import takewhile
from pathlib import Path
from typing import Any

import boto3
import jmespath
from botocore import xform_name

WAITER = {"Delay": 1, "MaxAttempts": 600}


def main(arguments: list[str]) -> None:
    """Make the call that the arguments of `aws` are, and print its answer."""
    service, operation, *rest = arguments
    session: Any = boto3.Session()
    client = session.client(service)
    waiter = None
    if operation == "wait":
        waiter = client.get_waiter(rest.pop(0).replace("-", "_"))
        operation = xform_name(waiter.config.operation, "-")
    method = operation.replace("-", "_")
    model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
    members = {xform_name(member, "-"): member for member in model.input_shape.members}
    request, query, output = {}, None, "json"
    for option, values in _options(rest):
        if option in ("query", "output"):
            query, output = (values[0], output) if option == "query" else (query, values[0])
        else:
            shape = model.input_shape.members[members[option]]
            request[members[option]] = _value(shape, values)
    if waiter:
        waiter.wait(**request, WaiterConfig=WAITER)
        return
    if client.can_paginate(method):
        answer = client.get_paginator(method).paginate(**request).build_full_result()
    else:
        answer = getattr(client, method)(**request)
    answer.pop("ResponseMetadata", None)
    answer = jmespath.search(query, answer) if query else answer
    if answer:
        shown = _text(answer) if output == "text" else [json.dumps(answer, default=str, indent=1)]
        print("\n".join(shown))  # noqa: T201


def _options(arguments: list[str]) -> Iterator[tuple[str, list[str]]]:
    rest = list(arguments)
    while rest:
        option = rest.pop(0)
        assert option.startswith("--"), option
        values = list(takewhile(lambda each: not each.startswith("--"), rest))
        del rest[: len(values)]
        yield option.removeprefix("--"), values


def _value(shape: Any, values: list[str]) -> Any:
    """Return what a member is given: JSON, `file://`, or the CLI's shorthand."""
    if values and values[0].startswith("file://"):
        return json.loads(Path(values[0].removeprefix("file://")).read_text())
    if values and values[0].startswith(("[", "{")):
        return json.loads(values[0])
    match shape.type_name:
        case "boolean":
            return True
        case "list":
            return [_value(shape.member, [each]) for each in values]
        case "structure":
            pairs = (part.split("=", 1) for part in values[0].split(","))
            return {key: _value(shape.members[key], [value]) for key, value in pairs}
        case "integer" | "long":
            return int(values[0])
        case "timestamp":
            return datetime.fromisoformat(values[0])
    (value,) = values
    return value


def _text(answer: Any) -> Iterator[str]:
    if isinstance(answer, list) and any(isinstance(each, list | dict) for each in answer):
        for each in answer:
            yield from _text(each)
    else:
        cells = answer.values() if isinstance(answer, dict) else answer
        yield answer if isinstance(answer, str) else "\t".join(map(str, cells))


if __name__ == "__main__":
    main(sys.argv[1:])
