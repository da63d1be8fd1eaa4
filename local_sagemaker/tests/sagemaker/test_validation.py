from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, VARIANT
from local_sagemaker.tests.sagemaker.policies import blue_green, rolling, size
from local_sagemaker.validation.hosting import (
    MAX_ENVIRONMENT_BYTES,
    check_alarms_exist,
    check_deployment,
    check_endpoint_config,
    check_model,
    check_variant_names,
    check_weights_and_capacities,
)

Record = dict[str, Any]

ROLE = {"ExecutionRoleArn": "arn:aws:iam::000000000000:role/known"}
LIMITS = {"MinInstanceCount": 2, "MaxInstanceCount": 4}
VARIANT_WITH_MODEL = {**VARIANT, "ModelName": "m"}


def without(member: str) -> dict[str, Any]:
    """Return a variant without one of its members."""
    return {name: value for name, value in VARIANT_WITH_MODEL.items() if name != member}


def model_error(s3: Any, **request: Any) -> str:
    with pytest.raises(ApiError) as exc_info:
        check_model({"ModelName": "m", **request}, s3, is_assumable=lambda _: True)
    assert exc_info.value.code == "ValidationException"
    return exc_info.value.message


@pytest.fixture(autouse=True)
def _model_archive(s3: Any) -> None:
    s3.objects["models", "m.tar.gz"] = b""


@pytest.mark.parametrize(
    ("container", "message"),
    [
        ({"ModelDataUrl": "s3://models/none.tar.gz"},
         "Could not find model data at s3://models/none.tar.gz."),
        ({"ModelDataUrl": "s3://models"}, "Could not find model data at s3://models."),
        ({"ModelDataUrl": "s3://none/", "Mode": "MultiModel"},
         "Could not find model data at s3://none/."),
        ({"ModelDataUrl": "https://models/m.tar.gz"},
         "The local SageMaker does not support https model data: "
         "use an s3:// URL, not https://models/m.tar.gz."),
        ({"Environment": {"A": "é" * (MAX_ENVIRONMENT_BYTES // 2)}},
         "Environment has more than 32768 bytes."),
        ({"Image": None}, "A container needs an Image."),
        ({"ModelDataUrl": None},
         "The local SageMaker does not support models in images: set ModelDataUrl."),
    ],
)  # fmt: skip
def test_invalid_container_is_refused(s3: Any, container: dict[str, Any], message: str) -> None:
    members = {name: value for name, value in {**CONTAINER, **container}.items() if value}
    assert model_error(s3, PrimaryContainer=members) == message


def test_model_without_primary_container_is_refused(s3: Any) -> None:
    assert model_error(s3) == "A model needs a PrimaryContainer."


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            {"ProductionVariants": [VARIANT_WITH_MODEL, VARIANT_WITH_MODEL]},
            "Variant names must be unique: only, only.",
        ),
        (
            {
                "ProductionVariants": [VARIANT_WITH_MODEL],
                "MetricsConfig": {"MetricPublishFrequencyInSeconds": 20},
            },
            "The local SageMaker publishes metrics every 60 s: leave out "
            "MetricPublishFrequencyInSeconds.",
        ),
        (
            {
                "ProductionVariants": [
                    {**VARIANT_WITH_MODEL, "ManagedInstanceScaling": {"Status": "ENABLED"}}
                ]
            },
            "ManagedInstanceScaling is only supported for inference component endpoints.",
        ),
        (
            {"ProductionVariants": [VARIANT]},
            "ExecutionRoleArn is required for endpoints of inference components.",
        ),
        (
            {**ROLE, "ProductionVariants": [VARIANT, VARIANT_WITH_MODEL]},
            "The local SageMaker supports one variant per endpoint of inference components: give "
            "only a ModelName, or leave out the other variants.",
        ),
        (
            {**ROLE, "ProductionVariants": [{**VARIANT, "InstanceType": "ml.p5.48xlarge"}]},
            "The local SageMaker supports inference components only on instances of one type "
            "with known resources: give variant only an InstanceType such as ml.g5.xlarge.",
        ),
        (
            {
                **ROLE,
                "ProductionVariants": [
                    {**VARIANT, "ManagedInstanceScaling": {"Status": "ENABLED", **LIMITS}}
                ],
            },
            "ManagedInstanceScaling needs a MinInstanceCount of at most InitialInstanceCount, and "
            "a MaxInstanceCount of at least InitialInstanceCount.",
        ),
        (
            {"ProductionVariants": [{**VARIANT_WITH_MODEL, "InstanceType": "ml.inf1.xlarge"}]},
            "The local SageMaker does not support the instance type ml.inf1.xlarge.",
        ),
        (
            {"ProductionVariants": [without("InitialInstanceCount")]},
            "Variant only needs an InitialInstanceCount.",
        ),
        (
            {"ProductionVariants": [without("InstanceType")]},
            "Variant only needs either an InstanceType or InstancePools.",
        ),
        (
            {
                "ProductionVariants": [
                    {**VARIANT_WITH_MODEL, "InstancePools": [{"InstanceType": "ml.g5.xlarge"}]}
                ]
            },
            "Variant only needs either an InstanceType or InstancePools.",
        ),
    ],
)
def test_invalid_endpoint_configuration_is_refused(request_: dict[str, Any], message: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_endpoint_config(request_)
    assert (exc_info.value.code, exc_info.value.message) == ("ValidationException", message)


@pytest.mark.parametrize(
    ("desired", "message"),
    [
        ([{"VariantName": "a", "DesiredInstanceCount": 0}],
         "Variant a needs a DesiredInstanceCount of at least 1."),
        ([{"VariantName": name, "DesiredInstanceCount": 2} for name in ("a", "b")],
         "Specify a DesiredInstanceCount for only one variant per request, not for a, b."),
    ],
)  # fmt: skip
def test_invalid_desired_count_is_refused(desired: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_weights_and_capacities(desired, ["a", "b"])
    assert (exc_info.value.code, exc_info.value.message) == ("ValidationException", message)


# Deployments


def canary(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return blue_green("CANARY", CanarySize=size(value, kind))


def linear(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return blue_green("LINEAR", LinearStepSize=size(value, kind))


def batch(value: int, kind: str = "CAPACITY_PERCENT") -> Record:
    return rolling(size(value, kind))


@pytest.mark.parametrize(
    "config",
    [
        {},
        blue_green("ALL_AT_ONCE", wait=3600, termination=3600),
        blue_green("ALL_AT_ONCE", wait=600, termination=600, timeout=1201),
        canary(50),
        canary(5, "INSTANCE_COUNT"),
        linear(10),
        linear(50),
        linear(1, "INSTANCE_COUNT"),
        batch(5),
        batch(50),
        batch(5, "INSTANCE_COUNT"),
    ],
)
def test_documented_deployment_is_accepted(config: Record) -> None:
    check_deployment(config, {"only": 10})


@pytest.mark.parametrize(
    ("config", "reason"),
    [
        (canary(51), "CanarySize is 51 (CAPACITY_PERCENT): it must be 0 to 50 percent"),
        (canary(6, "INSTANCE_COUNT"), "CanarySize is 6 (INSTANCE_COUNT): it must be 0 to 50"),
        (linear(9), "LinearStepSize is 9 (CAPACITY_PERCENT): it must be 10 to 50 percent"),
        (linear(51), "LinearStepSize is 51 "),
        (linear(6, "INSTANCE_COUNT"), "LinearStepSize is 6 "),
        (batch(4), "MaximumBatchSize is 4 (CAPACITY_PERCENT): it must be 5 to 50 percent"),
        (batch(51), "MaximumBatchSize is 51 "),
        (blue_green("CANARY"), "Traffic routing of type CANARY needs a CanarySize."),
        (blue_green("LINEAR"), "Traffic routing of type LINEAR needs a LinearStepSize."),
        (blue_green("ALL_AT_ONCE", wait=600, termination=600, timeout=1200),
         "MaximumExecutionTimeoutInSeconds is 1200: it must be larger than "
         "the sum of TerminationWaitInSeconds and WaitIntervalInSeconds, 1200."),
        ({**blue_green("ALL_AT_ONCE"), **batch(10)},
         "Specify BlueGreenUpdatePolicy or RollingUpdatePolicy, not both."),
    ],
)  # fmt: skip
def test_invalid_deployment_is_refused(config: Record, reason: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_deployment(config, {"only": 10})
    assert exc_info.value.code == "ValidationException"
    assert exc_info.value.message.startswith(reason)


def test_rolling_deployment_of_several_variants_is_refused() -> None:
    with pytest.raises(
        ApiError, match="needs an endpoint with one variant, but this endpoint has a, b"
    ):
        check_deployment(batch(10), {"a": 10, "b": 10})


@pytest.mark.parametrize("config", [canary(10), batch(10)])
def test_changed_variant_names_are_refused(config: Record) -> None:
    check_variant_names(config, ["a", "b"], ["b", "a"])
    with pytest.raises(ApiError, match="the endpoint has a: the names must be the same with a"):
        check_variant_names(config, ["a"], ["b"])
    check_variant_names({}, ["a"], ["b"])


def test_missing_alarm_is_refused() -> None:
    check_alarms_exist(["errors"], {"errors": "OK"})
    with pytest.raises(ApiError, match=r"^Could not find the CloudWatch alarm slow\.$"):
        check_alarms_exist(["errors", "slow"], {"errors": "OK"})
