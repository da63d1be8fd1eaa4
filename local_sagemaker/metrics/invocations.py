"""Metrics of invocations, and of the models of multi-model containers."""

from collections.abc import Iterator

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.hosting.invocation import Invocation
from local_sagemaker.metrics import names
from local_sagemaker.metrics.metric_buffer import MetricBuffer, MetricDimensions
from local_sagemaker.metrics.names import Metric

_MICROSECONDS_PER_SECOND = 1e6
_METRICS_OF_STEPS = {
    EventKind.MODEL_DOWNLOADED: names.DOWNLOADING_TIME,
    EventKind.MODEL_LOADED: names.LOADING_TIME,
    EventKind.MODEL_UNLOADED: names.UNLOADING_TIME,
}


def invocation_metrics(
    invocation: Invocation,
    calls: Metric,
    *,
    instances: int,
    seconds: float,
    error: ApiError | None,
) -> Iterator[tuple[Metric, float]]:
    """Yield the metrics of an invocation of a variant or an inference component, with their values.

    `instances` is the variant's number of instances, or the component's number of copies; `calls`
    is the metric of invocations per instance or copy. `seconds` is the total duration. Source: the
    developer guide, monitoring-cloudwatch. It does not say whether ModelLoadingWaitTime is 0 or
    missing if the model was already loaded; here it is missing.
    """
    yield names.INVOCATIONS, 1
    yield calls, 1 / instances
    status, is_model_error = _error_status(error)
    yield names.CLIENT_ERRORS, 400 <= status < 500
    yield names.SERVER_ERRORS, status >= 500
    yield names.MODEL_ERRORS, is_model_error
    if invocation.model_seconds is not None:
        yield names.MODEL_LATENCY, invocation.model_seconds * _MICROSECONDS_PER_SECOND
        overhead = max(0.0, seconds - invocation.model_seconds)
        yield names.OVERHEAD_LATENCY, overhead * _MICROSECONDS_PER_SECOND
    if invocation.model_was_loaded is not None:
        yield names.CACHE_HIT, invocation.model_was_loaded
    if invocation.loading_seconds is not None:
        yield names.LOADING_WAIT, invocation.loading_seconds * _MICROSECONDS_PER_SECOND


def _error_status(error: ApiError | None) -> tuple[int, bool]:
    """Return the HTTP status for the error metrics, and whether the container caused the error.

    If the container did not respond ("low-level socket errors ... and request timeouts"), the
    status is 500. An error of SageMaker, such as 429 while a model is loading, has the status that
    the client receives. Both are our choice, without a source.
    """
    if error is None:
        return 200, False
    if error.code != "ModelError":
        return error.status, False
    status = error.fields.get("OriginalStatusCode", 0)
    return (status if 400 <= status < 500 else 500), True


def add_model_step(buffer: MetricBuffer, endpoint: str, variant: str, step: ModelStep) -> None:
    """Add the duration of a model step to the buffer."""
    if metric := _METRICS_OF_STEPS.get(step.kind):
        microseconds = step.seconds * _MICROSECONDS_PER_SECOND
        buffer.add(metric, MetricDimensions(endpoint, variant), microseconds)
