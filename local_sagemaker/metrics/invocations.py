"""Metrics of an invocation."""

from collections.abc import Iterator

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.metrics import names
from local_sagemaker.metrics.names import Metric

_MICRO = 1e6


def measured(
    invocation: Invocation,
    calls: Metric,
    *,
    instances: int,
    seconds: float,
    error: ApiError | None,
) -> Iterator[tuple[Metric, float]]:
    """Yield the metrics of an invocation that a variant of so many `instances` has had.

    Of a component `instances` are its copies; `calls` is the metric that counts them by one.
    `seconds` are from when SageMaker had the request to the end of its answer. Source of what is
    sent for each: the developer guide, monitoring-cloudwatch. No source was found for what a model
    that was there already sends as the time that was waited for it: nothing is sent.
    """
    yield names.INVOCATIONS, 1
    yield calls, 1 / instances
    status, by_container = _status(error)
    yield names.CLIENT_ERRORS, 400 <= status < 500
    yield names.SERVER_ERRORS, status >= 500
    yield names.MODEL_ERRORS, by_container
    if invocation.model_seconds is not None:
        yield names.MODEL_LATENCY, invocation.model_seconds * _MICRO
        overhead = max(0.0, seconds - invocation.model_seconds)
        yield names.OVERHEAD_LATENCY, overhead * _MICRO
    if invocation.model_was_loaded is not None:
        yield names.CACHE_HIT, invocation.model_was_loaded
    if invocation.loading_seconds is not None:
        yield names.LOADING_WAIT, invocation.loading_seconds * _MICRO


def _status(error: ApiError | None) -> tuple[int, bool]:
    """Return the status that counts, and whether the container is what failed.

    That of the container, where it answered; where it did not, the request was "not a 2XX" by
    "low-level socket errors ... and request timeouts", which count as a 5XX here: no source.
    SageMaker's own refusals, such as 429 while a model loads, count as what the caller gets and not
    as the container's; no source either.
    """
    if error is None:
        return 200, False
    if error.code != "ModelError":
        return error.status, False
    status = error.fields.get("OriginalStatusCode", 0)
    return (status if 400 <= status < 500 else 500), True
