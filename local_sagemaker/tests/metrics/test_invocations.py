"""Metrics of an invocation."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Invocation, model_error
from local_sagemaker.metrics import names
from local_sagemaker.metrics.invocations import invocation_metrics

UNUSED: Any = None


def metrics_of_call(error: ApiError | None = None, **attributes: Any) -> dict[str, float]:
    """Return the metrics of a call of 3 seconds to a variant with four instances."""
    invocation = Invocation({}, UNUSED, UNUSED)
    for name, value in attributes.items():
        setattr(invocation, name, value)
    values = list(
        invocation_metrics(
            invocation, names.INVOCATIONS_PER_INSTANCE, instances=4, seconds=3, error=error
        )
    )
    assert len({metric for metric, _ in values}) == len(values)
    return {metric.name: value for metric, value in values}


def test_successful_call() -> None:
    assert metrics_of_call(model_seconds=2.5) == {
        "Invocations": 1,
        "InvocationsPerInstance": 0.25,
        "Invocation4XXErrors": 0,
        "Invocation5XXErrors": 0,
        "InvocationModelErrors": 0,
        "ModelLatency": 2_500_000,
        "OverheadLatency": 500_000,
    }


def test_call_that_loads_its_model() -> None:
    result = metrics_of_call(model_seconds=0.5, model_was_loaded=False, loading_seconds=2.0)
    assert (result["ModelCacheHit"], result["ModelLoadingWaitTime"]) == (0, 2_000_000)


def test_call_of_a_loaded_model() -> None:
    result = metrics_of_call(model_seconds=0.5, model_was_loaded=True)
    assert result["ModelCacheHit"] == 1
    assert "ModelLoadingWaitTime" not in result


def test_call_without_a_container_has_no_latency() -> None:
    assert not metrics_of_call(ApiError("ValidationError", "no")).keys() & {
        "ModelLatency",
        "OverheadLatency",
    }


@pytest.mark.parametrize(
    ("error", "client", "server", "container"),
    [
        (model_error(400, b"no input X"), 1, 0, 1),  # Triton's errors and invalid requests
        (model_error(507, b"out of memory"), 0, 1, 1),
        (model_error(302, b"elsewhere"), 0, 1, 1),
        (model_error(0, b"timed out"), 0, 1, 1),
        (ApiError("ModelError", "The container did not answer", status=424), 0, 1, 1),
        (ApiError("ModelNotReadyException", "loading", status=429), 1, 0, 0),
        (ApiError("ServiceUnavailable", "no healthy instance", status=503), 0, 1, 0),
        (ApiError("ValidationError", "Failed to download model data"), 1, 0, 0),
    ],
)
def test_error_metrics(error: ApiError, client: int, server: int, container: int) -> None:
    result = metrics_of_call(error)
    assert [
        result["Invocation4XXErrors"],
        result["Invocation5XXErrors"],
        result["InvocationModelErrors"],
    ] == [client, server, container]
