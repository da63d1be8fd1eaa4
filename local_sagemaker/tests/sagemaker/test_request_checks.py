from typing import Any

import pytest

from local_sagemaker.errors import ApiError
from local_sagemaker.sagemaker.request_checks import (
    MAX_ENVIRONMENT_BYTES,
    check_endpoint_config,
    check_model,
    check_weights_and_capacities,
)
from local_sagemaker.tests.sagemaker.conftest import CONTAINER, VARIANT

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
        (
            {"ModelDataUrl": "s3://models/none.tar.gz"},
            "Could not find model data at s3://models/none.tar.gz.",
        ),
        ({"ModelDataUrl": "s3://models"}, "Could not find model data at s3://models."),
        (
            {"ModelDataUrl": "s3://none/", "Mode": "MultiModel"},
            "Could not find model data at s3://none/.",
        ),
        (
            {"ModelDataUrl": "https://models/m.tar.gz"},
            "The local SageMaker does not support https model data: "
            "use an s3:// URL, not https://models/m.tar.gz.",
        ),
        (
            {"Environment": {"A": "é" * (MAX_ENVIRONMENT_BYTES // 2)}},
            "Environment has more than 32768 bytes.",
        ),
        ({"Image": None}, "A container needs an Image."),
        (
            {"ModelDataUrl": None},
            "The local SageMaker does not support models in images: set ModelDataUrl.",
        ),
    ],
)
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
        (
            [{"VariantName": "a", "DesiredInstanceCount": 0}],
            "Variant a needs a DesiredInstanceCount of at least 1.",
        ),
        (
            [{"VariantName": name, "DesiredInstanceCount": 2} for name in ("a", "b")],
            "Specify a DesiredInstanceCount for only one variant per request, not for a, b.",
        ),
    ],
)
def test_invalid_desired_count_is_refused(desired: list[dict[str, Any]], message: str) -> None:
    with pytest.raises(ApiError) as exc_info:
        check_weights_and_capacities(desired, ["a", "b"])
    assert (exc_info.value.code, exc_info.value.message) == ("ValidationException", message)
