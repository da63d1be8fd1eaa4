"""What instances cost, by the prices of `conftest`."""

import pytest

from release.review.endpoints import DeclaredEndpoint, DeclaredModel, DeclaredVariant
from release.review.money import HOURS, Cost, cost_of


def variant(instance_type: str = "ml.g5.xlarge", *, mode: str = "MultiModel") -> DeclaredVariant:
    return DeclaredVariant(
        name=instance_type,
        instance_type=instance_type,
        weight=1,
        mode=mode,
        initial=3,
        minimum=2,
        maximum=10,
        targets={},
        scaled=True,
        target=None,
    )


def endpoint(*variants: DeclaredVariant, models: int = 1) -> DeclaredEndpoint:
    names = [f"model-{number}" for number in range(models)]
    return DeclaredEndpoint(
        name="prod-text",
        release="25.09",
        update="all at once",
        rollback_alarms=0,
        alarms=(),
        variants={it.name: it for it in variants},
        models={it: DeclaredModel(name=it, version="1", signature={}, builds={}) for it in names},
    )


def test_a_month_of_instances() -> None:
    assert cost_of(endpoint(variant()), "us-east-1") == Cost(
        minimum=1.4 * 2 * HOURS,
        initial=1.4 * 3 * HOURS,
        maximum=1.4 * 10 * HOURS,
        as_single_model=1.4 * 2 * HOURS,
    )


def test_variants_are_added_up() -> None:
    found = cost_of(endpoint(variant(), variant("ml.g5.2xlarge")), "us-east-1")
    assert found.minimum == (1.4 + 1.5) * 2 * HOURS


def test_models_that_share_instances_are_set_against_an_endpoint_each() -> None:
    found = cost_of(endpoint(variant(), models=4), "us-east-1")
    assert found.as_single_model == 4 * 1.4 * 2 * HOURS
    alone = cost_of(endpoint(variant(mode="SingleModel"), models=1), "us-east-1")
    assert alone.as_single_model == alone.minimum


@pytest.mark.parametrize(
    ("instance_type", "region"), [("ml.g6.xlarge", "us-east-1"), ("ml.g5.xlarge", "eu-west-1")]
)
def test_a_price_that_is_missing_is_never_guessed(instance_type: str, region: str) -> None:
    found = cost_of(endpoint(variant("ml.g5.2xlarge"), variant(instance_type)), region)
    assert found.minimum is found.initial is found.maximum is found.as_single_model is None
    assert f"{instance_type} in {region}" in found.unknown
