import pytest
from packaging.version import Version

from platform_facts import (
    ComputeCapability,
    UnknownFact,
    cuda_satisfies,
    inference_ami,
    oldest_release,
    release,
    releases,
)

GPU_3_1 = "al2-ami-sagemaker-inference-gpu-3-1"
GPU_4_1 = "al2023-ami-sagemaker-inference-gpu-4-1"


def test_releases_are_listed_newest_first() -> None:
    assert [row.name for row in releases()] == [
        *("26.05", "26.03", "25.09", "25.04", "24.09", "24.05", "24.03", "24.01", "23.12"),
        *("23.10", "23.09", "23.08", "23.07", "23.06", "23.05", "23.03", "23.02", "23.01"),
        *("22.12", "22.10", "22.09", "22.08", "22.07", "22.05", "21.08"),
    ]


def test_inference_amis_support_the_cuda_of_the_release() -> None:
    wrong = [
        (row.name, name)
        for row in releases()
        for name in row.inference_amis
        if not row.cuda or not cuda_satisfies(offered=inference_ami(name).cuda, needed=row.cuda)
    ]
    assert wrong == []


def test_release_with_unknown_cuda_has_no_inference_ami() -> None:
    row = release("22.10")
    assert row.cuda is None
    assert row.preferred_inference_ami is None
    assert {"cuda", "inference_amis"} <= set(row.unsourced)


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
    wrong = [
        row for row in releases() if len({getattr(row, field) is None for field in fields}) > 1
    ]
    assert [row.name for row in wrong] == []


def test_minimum_compute_capability_does_not_decrease() -> None:
    floors = [
        row.minimum_compute_capability
        for row in releases()
        if row.minimum_compute_capability is not None
    ]
    assert floors == sorted(floors, reverse=True)


def test_release_runs_from_its_minimum_compute_capability() -> None:
    row = release("25.04")
    assert row.runs_on(ComputeCapability(7, 5)) is True
    assert row.runs_on(ComputeCapability(10, 0)) is True
    assert row.runs_on(ComputeCapability(7, 0)) is False


@pytest.mark.parametrize(("name", "runs"), [("22.08", False), ("22.09", None), ("25.09", True)])
def test_release_does_not_run_on_a_newer_gpu(name: str, runs: bool | None) -> None:
    # CUDA 11.8 brought 8.9 and 9.0; 22.08 is built with 11.7.
    assert release(name).runs_on(ComputeCapability(8, 9)) is runs


def test_support_of_release_with_unknown_minimum_is_unknown() -> None:
    assert release("21.08").runs_on(ComputeCapability(8, 6)) is None


def test_unknown_release_error_suggests_names() -> None:
    with pytest.raises(UnknownFact) as raised:
        release("25.9")
    message = str(raised.value)
    assert message.startswith(
        'no SageMaker Triton release "25.9": did you mean 25.09? Known: 26.05, 26.03, 25.09, '
    )
    assert message.endswith(", 21.08")


def test_oldest_release_with_a_feature() -> None:
    oldest = oldest_release(lambda row: (row.onnx_opset or 0) >= 20)
    assert oldest == release("24.03")
    assert oldest_release(lambda row: row.name > "99") is None
