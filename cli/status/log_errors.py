"""Triton's errors by model, out of the logs: SageMaker has no metrics by model."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from botocore.exceptions import ClientError

from cli.logs.groups import ENDPOINTS
from cli.logs.lines import ERRORS
from cli.status.metrics import Window
from cli.status.report import Model


def with_errors(logs: Any, models: Sequence[Model], window: Window) -> list[Model]:
    """Return the models with how many of Triton's errors name each. Raises `ClientError`.

    Triton names a model by its archive, and that of a single-model endpoint by its folder, as 2.51
    does: "Failed to process the request(s) for model 'plus_0', message: ..." and "failed to load
    '/opt/ml/models/.../model::plus-0a1b.tar.gz' version 1: ...".
    """
    messages = {
        endpoint: _errors(logs, endpoint, window)
        for endpoint in sorted({it.endpoint for it in models})
    }
    return [replace(it, log_errors=_naming(it, messages[it.endpoint])) for it in models]


def _naming(model: Model, messages: Sequence[str]) -> int:
    name = model.archive or f"'{model.name}_"
    return sum(name in message for message in messages)


def _errors(logs: Any, endpoint: str, window: Window) -> list[str]:
    """Return the messages; none where the endpoint has not logged yet."""
    pages = logs.get_paginator("filter_log_events").paginate(
        logGroupName=f"{ENDPOINTS}{endpoint}",
        filterPattern=ERRORS,
        startTime=int(window.since.timestamp() * 1000),
        endTime=int(window.until.timestamp() * 1000),
    )
    try:
        return [event["message"] for page in pages for event in page["events"]]
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return []
