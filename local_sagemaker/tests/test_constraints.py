from typing import Any

import botocore.session
import pytest
from botocore.model import ListShape, MapShape, Shape, StructureShape

from local_sagemaker.constraints import _compile, check_constraints
from local_sagemaker.errors import ApiError

EMULATED = {
    "application-autoscaling": ("PutScalingPolicy", "RegisterScalableTarget"),
    "codebuild": ("BatchGetBuilds", "CreateProject", "StartBuild", "UpdateProject"),
    "sagemaker": (
        "AddTags", "CreateEndpointConfig", "CreateModel", "ListEndpoints", "ListModels",
        "UpdateEndpoint", "UpdateEndpointWeightsAndCapacities",
    ),
}  # fmt: skip


def shape_of(operation: str, service: str = "sagemaker") -> Any:
    model = botocore.session.get_session().get_service_model(service)
    return model.operation_model(operation).input_shape


def refusal(operation: str, request: dict[str, Any]) -> str:
    with pytest.raises(ApiError) as refused:
        check_constraints(request, shape_of(operation))
    assert refused.value.code == "ValidationException"
    return refused.value.message


def variant(**members: Any) -> dict[str, Any]:
    return {
        "EndpointConfigName": "c",
        "ProductionVariants": [{"VariantName": "a"}, {"VariantName": "b", **members}],
    }


@pytest.mark.parametrize("name", ["../../../x", "a_b", "a b", "-a", "a-", "", "é", "a\n", "a/b"])
def test_invalid_name_is_refused(name: str) -> None:
    assert refusal("CreateEndpoint", {"EndpointName": name, "EndpointConfigName": "c"}) == (
        f"1 validation error detected: Value '{name}' at 'endpointName' failed to satisfy "
        "constraint: Member must satisfy regular expression pattern: "
        "[a-zA-Z0-9](-*[a-zA-Z0-9]){0,62}"
    )


def test_all_violations_are_reported() -> None:
    message = refusal("CreateEndpoint", {"EndpointName": "a" * 100, "EndpointConfigName": "a_b"})
    assert message.startswith("3 validation errors detected: Value 'aaa")
    assert (
        "at 'endpointName' failed to satisfy constraint: Member must have length less than or"
        in (message)
    )
    assert "; Value 'a_b' at 'endpointConfigName' failed" in message


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"InstanceType": "ml.none.xlarge"}, "instanceType' failed to satisfy constraint: Member mu"
        "st satisfy enum value set: [ml.t2.medium, "),
        ({"VolumeSizeInGB": 513}, "volumeSizeInGB' failed to satisfy constraint: Member must have v"
        "alue less than or equal to 512"),
        ({"InitialInstanceCount": 2**31}, "initialInstanceCount' failed to satisfy constraint: Mem"
        "ber must have value less than or equal to 2147483647"),
        ({"ModelName": "a_b"}, "modelName' failed to satisfy constraint: Member must satisfy regula"
        "r expression pattern: "),
    ],
)  # fmt: skip
def test_violation_in_a_list_has_its_path(members: dict[str, Any], expected: str) -> None:
    message = refusal("CreateEndpointConfig", variant(**members))
    assert f" at 'productionVariants.2.member.{expected}" in message


@pytest.mark.parametrize("environment", [{"A": "x" * 1025}, {"A B": "x"}])
def test_map_keys_and_values_are_checked(environment: dict[str, str]) -> None:
    request = {"ModelName": "m", "PrimaryContainer": {"Environment": environment}}
    assert " at 'primaryContainer.environment." in refusal("CreateModel", request)


def test_valid_request_is_accepted() -> None:
    check_constraints(
        {
            "ModelName": "A-1",
            "ExecutionRoleArn": "arn:aws:iam::000000000000:role/service-role/x",
            "PrimaryContainer": {"Environment": {"A_1": "a b\tc"}, "ModelDataUrl": "s3://b/p/"},
            "Tags": [{"Key": "Team = 1", "Value": "Zürich 日本\u00a0x"}],
        },
        shape_of("CreateModel"),
    )


def test_maximum_number_is_accepted() -> None:
    maximum = variant(VolumeSizeInGB=512, InitialInstanceCount=2**31 - 1)
    check_constraints(maximum, shape_of("CreateEndpointConfig"))


def _patterns(shape: Shape, visited: set[str]) -> None:
    if shape.name in visited:
        return
    visited.add(shape.name)
    if "pattern" in shape.metadata:
        _compile(shape.metadata["pattern"])
    if isinstance(shape, StructureShape):
        for member in shape.members.values():
            _patterns(member, visited)
    elif isinstance(shape, ListShape):
        _patterns(shape.member, visited)
    elif isinstance(shape, MapShape):
        _patterns(shape.key, visited)
        _patterns(shape.value, visited)


@pytest.mark.parametrize("service", EMULATED)
def test_all_patterns_of_a_service_compile(service: str) -> None:
    shapes: set[str] = set()
    for operation in EMULATED[service]:
        _patterns(shape_of(operation, service), shapes)
    assert len(shapes) > 30
