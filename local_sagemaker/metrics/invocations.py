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
    """Yield the metric values of an invocation of a variant or a component.

    `instances` is the variant's number of instances, or the component's number of copies; `calls`
    is the metric of calls per instance or copy. `seconds` is the total duration. Source: the
    developer guide, monitoring-cloudwatch. Without a source: no ModelLoadingWaitTime for a model
    that was loaded before.
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
    """Return the status for the error metrics, and whether the container failed.

    The status is the container's, or 500 if it did not respond ("low-level socket errors ... and
    request timeouts"; counting them as 5XX has no source). SageMaker's own errors, such as 429
    while a model loads, count with the client's status and not as model errors (no source).
    """
    if error is None:
        return 200, False
    if error.code != "ModelError":
        return error.status, False
    status = error.fields.get("OriginalStatusCode", 0)
    return (status if 400 <= status < 500 else 500), True
