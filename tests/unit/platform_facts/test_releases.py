from typing import Any

import pytest
from packaging.version import Version

from platform_facts import ComputeCapability, UnknownFact, oldest_release, release, releases
from tests.unit.platform_facts.conftest import enum_values

AMI_CUDA_VERSIONS = {
    "al2-ami-sagemaker-inference-gpu-2": "12.2",
    "al2-ami-sagemaker-inference-gpu-2-1": "12.2",
    "al2-ami-sagemaker-inference-gpu-3-1": "12.4",
    "al2023-ami-sagemaker-inference-gpu-4-1": "13.0",
}
"""Values of InferenceAmiVersion, with the CUDA version of their driver (SageMaker developer guide,
container-nvidia-compliance)."""


def test_ami_versions_match_the_sagemaker_api() -> None:
    values = enum_values("ProductionVariantInferenceAmiVersion")
    assert AMI_CUDA_VERSIONS.keys() == {name for name in values if "neuron" not in name}


def test_inference_amis_support_the_cuda_major_version_of_the_release() -> None:
    # A driver of CUDA 12.x runs images of all 12.y and of earlier versions (NVIDIA, "CUDA
    # Compatibility", minor-version compatibility).
    unsupported = [
        (row.name, ami)
        for row in releases()
        for ami in row.inference_amis
        if not row.cuda or Version(AMI_CUDA_VERSIONS[ami]).major < Version(row.cuda).major
    ]
    assert unsupported == []


def test_backends_of_releases() -> None:
    newest = set(releases()[0].backends)
    assert newest >= {"python", "onnxruntime", "fil", "openvino"}
    assert {row.name: set(row.backends) for row in releases()} == {
        row.name: newest | ({"tensorflow"} if row.name <= "25.02" else set()) for row in releases()
    }


@pytest.mark.parametrize("field", ["python", "torch", "onnxruntime", "onnx_opset", "onnx_ir"])
def test_versions_do_not_decrease(field: str) -> None:
    values = [getattr(row, field) for row in releases() if getattr(row, field) is not None]
    # Without the local part: two commits of one version are equal.
    versions = [Version(str(value)).release for value in values]
    assert len(versions) > 10
    assert versions == sorted(versions, reverse=True)


@pytest.mark.parametrize("field", ["tensorrt", "torch", "dali", "tensorflow", "onnxruntime"])
def test_versions_are_valid_for_pip(field: str) -> None:
    values = [getattr(row, field) for row in releases() if getattr(row, field) is not None]
    assert [str(Version(value)) for value in values] == values


def test_onnx_opset_and_ir_are_known_with_onnxruntime() -> None:
    fields = ("onnxruntime", "onnx_opset", "onnx_ir")
    incomplete = [
        row for row in releases() if len({getattr(row, field) is None for field in fields}) > 1
    ]
    assert [row.name for row in incomplete] == []


@pytest.mark.parametrize(
    ("name", "capability", "required"),
    [
        ("25.04", (7, 5), None),
        ("25.09", (12, 0), None),
        ("25.04", (10, 0), "9.0 or less"),  # the driver of its preferred AMI
        ("24.09", (12, 0), "9.0 or less"),
    ],
)
def test_required_compute_capability(
    name: str, capability: tuple[int, int], required: str | None
) -> None:
    assert release(name).required_compute_capability(ComputeCapability(*capability)) == required


def test_oldest_release_with_a_feature() -> None:
    oldest = oldest_release(lambda row: (row.onnx_opset or 0) >= 20)
    assert oldest == release("24.03")
    assert oldest_release(lambda row: row.name > "99") is None


def test_release_that_is_a_number_is_an_error() -> None:
    number: Any = 25.09
    with pytest.raises(UnknownFact, match=r'release: 25.09 is not text: write "25.09", in quotes'):
        release(number)


def test_releases_are_listed_newest_first() -> None:
    names = [row.name for row in releases()]
    assert names == sorted(names, reverse=True)
