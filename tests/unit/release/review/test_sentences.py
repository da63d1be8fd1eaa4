"""What a review says of an endpoint first."""

from dataclasses import replace

import pytest

from release.review.endpoints import DeclaredEndpoint, endpoint_of
from release.review.sentences import sentence
from tests.unit.release.review.resources import RESOURCES
from triton_sagemaker import PublishedMetrics

METRICS = PublishedMetrics(log_group="/metrics", namespace="Triton/text").environment()


def endpoint(environment: dict[str, str]) -> DeclaredEndpoint:
    """An endpoint whose containers have these variables."""
    declared = endpoint_of({"Resources": RESOURCES})
    assert declared is not None
    variants = {
        name: replace(it, environment=environment) for name, it in declared.variants.items()
    }
    return replace(declared, variants=variants)


@pytest.mark.parametrize(
    ("before", "after", "state"),
    [({}, METRICS, "published"), (METRICS, {}, "no longer published")],
)
def test_variables_that_publish_metrics_are_one_part_of_the_sentence(
    before: dict[str, str], after: dict[str, str], state: str
) -> None:
    parts = sentence(endpoint(before), endpoint(after), [], []).replace(";", ",").split(", ")
    assert f"Triton's own metrics {state}" in parts
    assert not [it for it in parts if "METRIC" in it]
