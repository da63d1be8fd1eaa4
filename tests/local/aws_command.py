"""The command `aws` for tests without the AWS CLI: one call, with the CLI's arguments.

An unknown operation, option or waiter is an error, as in the CLI. Waiters poll every second.
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
    """Make the call and print its response."""
    service, operation, *options = arguments
    session: Any = boto3.Session()
    client = session.client(service)
    waiter = None
    if operation == "wait":
        waiter = client.get_waiter(options.pop(0).replace("-", "_"))
        operation = xform_name(waiter.config.operation, "-")
    method = operation.replace("-", "_")
    model = client.meta.service_model.operation_model(client.meta.method_to_api_mapping[method])
    members = {xform_name(member, "-"): member for member in model.input_shape.members}
    request: dict[str, Any] = {}
    query, output = None, "json"
    for option, values in _parse_options(options):
        if option == "cli-input-json":
            request |= json.loads(values[0])
        elif option in ("query", "output"):
            query, output = (values[0], output) if option == "query" else (query, values[0])
        else:
            shape = model.input_shape.members[members[option]]
            request[members[option]] = _parse_value(shape, values)
    if waiter:
        waiter.wait(**request, WaiterConfig=WAITER)
        return
    if client.can_paginate(method):
        response = client.get_paginator(method).paginate(**request).build_full_result()
    else:
        response = getattr(client, method)(**request)
    response.pop("ResponseMetadata", None)
    response = jmespath.search(query, response) if query else response
    if response:
        as_json = json.dumps(response, default=str, indent=1)
        print("\n".join(_text_lines(response)) if output == "text" else as_json)  # noqa: T201


def _parse_options(arguments: list[str]) -> Iterator[tuple[str, list[str]]]:
    remaining = list(arguments)
    while remaining:
        option = remaining.pop(0)
        assert option.startswith("--"), option
        values = list(takewhile(lambda value: not value.startswith("--"), remaining))
        del remaining[: len(values)]
        yield option.removeprefix("--"), values


def _parse_value(shape: Any, values: list[str]) -> Any:
    """Return the value of a member, written as JSON, `file://` or the CLI's shorthand."""
    if values and values[0].startswith("file://"):
        return json.loads(Path(values[0].removeprefix("file://")).read_text())
    if values and values[0].startswith(("[", "{")):
        return json.loads(values[0])
    match shape.type_name:
        case "boolean":
            return True
        case "list":
            return [_parse_value(shape.member, [value]) for value in values]
        case "structure":
            pairs = (part.split("=", 1) for part in values[0].split(","))
            return {key: _parse_value(shape.members[key], [value]) for key, value in pairs}
        case "integer" | "long":
            return int(values[0])
        case "timestamp":
            return datetime.fromisoformat(values[0])
    (value,) = values
    return value


def _text_lines(response: Any) -> Iterator[str]:
    if isinstance(response, list) and any(isinstance(item, list | dict) for item in response):
        for item in response:
            yield from _text_lines(item)
    else:
        cells = response.values() if isinstance(response, dict) else response
        yield response if isinstance(response, str) else "\t".join(map(str, cells))


if __name__ == "__main__":
    main(sys.argv[1:])
