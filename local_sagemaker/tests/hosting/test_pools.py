"""Instance pools: choice of the instance type, and the counts in DescribeEndpoint.

Source: developer guide, realtime-endpoints-heterogeneous, unless a test names another source.
"""

from typing import Any

import pytest

from local_sagemaker.hosting.pools import Capacities, NoCapacityError, Pool

POOLS: dict[str, Any] = {
    "VariantName": "only",
    "ModelName": "model",
    "InstancePools": [
        {"InstanceType": "ml.g5.xlarge", "Priority": 2, "ModelNameOverride": "other"},
        {"InstanceType": "ml.g6.xlarge", "Priority": 1},
    ],
}
G6, G5 = Pool("ml.g6.xlarge", "model"), Pool("ml.g5.xlarge", "other")
SINGLE_TYPE = {"VariantName": "only", "ModelName": "model", "InstanceType": "ml.g6.xlarge"}
NO_CAPACITY = Capacities({"ml.g6.xlarge": 0, "ml.g5.xlarge": 0})


@pytest.mark.parametrize(
    ("variant", "seconds"),
    [
        (SINGLE_TYPE, 31 * 60),
        ({**POOLS, "VariantInstanceProvisionTimeoutInSeconds": 600}, 600),
        (POOLS, 20 * 60),
    ],
    ids=["mikegc-aws/strands-decider-triton", "API reference, ProductionVariant", "no source"],
)
def test_missing_capacity_has_a_provision_timeout(variant: dict[str, Any], seconds: int) -> None:
    with pytest.raises(NoCapacityError, match="InsufficientInstanceCapacity error") as raised:
        NO_CAPACITY.take(variant)
    assert raised.value.seconds == seconds
