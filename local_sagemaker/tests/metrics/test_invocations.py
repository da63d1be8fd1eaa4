"""What is measured of an invocation."""

from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.hosting.invocation import Invocation, model_error
from local_sagemaker.metrics import names
from local_sagemaker.metrics.invocations import measured

NOBODY: Any = None


def of(error: ApiError | None = None, **known: Any) -> dict[str, float]:
    """Return the metrics of a call that took 3 seconds of a variant of four instances."""
    invocation = Invocation({}, NOBODY, NOBODY)
    for name, value in known.items():
        setattr(invocation, name, value)
    values = list(
        measured(invocation, names.INVOCATIONS_PER_INSTANCE, instances=4, seconds=3, error=error)
    )
    assert len({metric for metric, _ in values}) == len(values)
    return {metric.name: value for metric, value in values}


def test_a_call_that_is_answered() -> None:
    assert of(model_seconds=2.5) == {
        "Invocations": 1,
        "InvocationsPerInstance": 0.25,
        "Invocation4XXErrors": 0,
        "Invocation5XXErrors": 0,
        "InvocationModelErrors": 0,
        "ModelLatency": 2_500_000,
        "OverheadLatency": 500_000,
    }


def test_a_call_that_waited_for_its_model() -> None:
    result = of(model_seconds=0.5, model_was_loaded=False, loading_seconds=2.0)
    assert (result["ModelCacheHit"], result["ModelLoadingWaitTime"]) == (0, 2_000_000)


def test_a_call_whose_model_was_there() -> None:
    result = of(model_seconds=0.5, model_was_loaded=True)
    assert result["ModelCacheHit"] == 1
    assert "ModelLoadingWaitTime" not in result


def test_what_no_container_was_asked_has_no_latency() -> None:
    assert not of(ApiError("ValidationError", "no")).keys() & {"ModelLatency", "OverheadLatency"}


@pytest.mark.parametrize(
    ("error", "client", "server", "container"),
    [
        (model_error(400, b"no input X"), 1, 0, 1),  # how Triton fails, and what callers get wrong
        (model_error(507, b"out of memory"), 0, 1, 1),
        (model_error(302, b"elsewhere"), 0, 1, 1),
        (model_error(0, b"timed out"), 0, 1, 1),
        (ApiError("ModelError", "The container did not answer", status=424), 0, 1, 1),
        (ApiError("ModelNotReadyException", "loading", status=429), 1, 0, 0),
        (ApiError("ServiceUnavailable", "no healthy instance", status=503), 0, 1, 0),
        (ApiError("ValidationError", "Failed to download model data"), 1, 0, 0),
    ],
)
def test_errors_count_as_the_containers_or_as_sagemakers(
    error: ApiError, client: int, server: int, container: int
) -> None:
    result = of(error)
    assert [
        result["Invocation4XXErrors"],
        result["Invocation5XXErrors"],
        result["InvocationModelErrors"],
    ] == [client, server, container]
