"""Instance pools: which type an instance gets, and what DescribeEndpoint says of them.

First what a source says: developer guide, realtime-endpoints-heterogeneous, unless a test names
another. Then what is the emulator's own choice, which says nothing of AWS.
"""

from typing import Any

import pytest

from local_sagemaker.hosting.pools import Capacities, NoCapacityError, Pool, described, pools

POOLS: dict[str, Any] = {
    "VariantName": "only",
    "ModelName": "model",
    "InstancePools": [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ],
}
G6, G5 = Pool("ml.g6.xlarge", "model"), Pool("ml.g5.xlarge", "other")
ONE = {"VariantName": "only", "ModelName": "model", "InstanceType": "ml.g6.xlarge"}
NOTHING = Capacities({"ml.g6.xlarge": 0, "ml.g5.xlarge": 0})


def test_pools_are_in_the_order_of_their_priorities_with_their_models() -> None:
    assert pools(POOLS) == [G6, G5]
    assert pools(ONE) == [Pool("ml.g6.xlarge", "model", metrics_by_type=False)]


def test_an_instance_gets_the_first_type_with_capacity() -> None:
    capacities = Capacities({"ml.g6.xlarge": 1})
    assert [capacities.take(POOLS), capacities.take(POOLS)] == [G6, G5]


def test_an_instance_that_has_ended_makes_room_for_another() -> None:
    capacities = Capacities({"ml.g6.xlarge": 1})
    capacities.give_back(capacities.take(POOLS))
    assert capacities.take(POOLS) == G6


@pytest.mark.parametrize(
    ("variant", "seconds"),
    [(ONE, 31 * 60), ({**POOLS, "VariantInstanceProvisionTimeoutInSeconds": 600}, 600)],
    ids=["reported: mikegc-aws/strands-decider-triton", "API reference, ProductionVariant"],
)
def test_without_capacity_of_any_type_sagemaker_gives_up_after_a_time(
    variant: dict[str, Any], seconds: int
) -> None:
    with pytest.raises(NoCapacityError, match="InsufficientInstanceCapacity error") as raised:
        NOTHING.take(variant)
    assert raised.value.seconds == seconds


# The emulator's own: no source


def test_pools_without_a_time_out_are_given_up_after_twenty_minutes() -> None:
    with pytest.raises(NoCapacityError) as raised:
        NOTHING.take(POOLS)
    assert raised.value.seconds == 20 * 60


def test_each_type_has_its_instances_and_the_last_one_those_without_a_process() -> None:
    assert described(POOLS, ["ml.g6.xlarge", "ml.g5.xlarge"], 4) == [
        {"InstanceType": "ml.g6.xlarge", "CurrentInstanceCount": 1},
        {"InstanceType": "ml.g5.xlarge", "CurrentInstanceCount": 3},
    ]
