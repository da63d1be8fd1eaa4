import pytest
from packaging.version import Version

from platform_facts import (
    AccountSet,
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


def test_every_release_that_sagemaker_published_is_there_newest_first() -> None:
    assert [row.name for row in releases()] == [
        *("26.05", "26.03", "25.09", "25.04", "24.09", "24.05", "24.03", "24.01", "23.12"),
        *("23.10", "23.09", "23.08", "23.07", "23.06", "23.05", "23.03", "23.02", "23.01"),
        *("22.12", "22.10", "22.09", "22.08", "22.07", "22.05", "21.08"),
    ]


def test_a_row_arrives_as_it_stands_in_the_table() -> None:
    row = release("25.09")
    assert (row.cuda, row.python) == ("13.0.1.012", "3.12.3")
    assert (row.torch, row.dali, row.tensorflow) == ("2.9.0a0+50eac811a6", "1.51.2", None)
    assert (row.onnx_opset, row.onnx_ir) == (23, 11)
    assert row.minimum_compute_capability == ComputeCapability(7, 5)
    assert row.unsourced == ("tensorrt", "builder_tag", "tensorflow")


def test_the_accounts_changed_with_23_12() -> None:
    since = {row.name for row in releases() if row.account_set is AccountSet.SINCE_23_12}
    assert since == {row.name for row in releases() if row.name >= "23.12"}


def test_every_inference_ami_of_a_release_exists_and_carries_its_cuda() -> None:
    wrong = [
        (row.name, name)
        for row in releases()
        for name in row.inference_amis
        if not row.cuda or not cuda_satisfies(offered=inference_ami(name).cuda, needed=row.cuda)
    ]
    assert wrong == []


def test_cuda_13_asks_for_gpu_4_1_and_cuda_12_prefers_gpu_3_1() -> None:
    expected = {"13": (GPU_4_1,), "12": (GPU_3_1, GPU_4_1), "": ()}
    assert {row.name: row.inference_amis for row in releases()} == {
        row.name: expected[(row.cuda or "").partition(".")[0]] for row in releases()
    }
    assert release("25.09").preferred_inference_ami == GPU_4_1
    assert release("24.09").preferred_inference_ami == GPU_3_1


def test_a_release_of_unknown_cuda_leaves_the_ami_to_sagemaker() -> None:
    row = release("22.10")
    assert row.cuda is None
    assert row.preferred_inference_ami is None
    assert {"cuda", "inference_amis"} <= set(row.unsourced)


def test_tensorflow_is_in_no_release_after_25_02_and_the_other_backends_are_in_all() -> None:
    newest = set(releases()[0].backends)
    assert newest >= {"python", "onnxruntime", "fil", "openvino"}
    assert {row.name: set(row.backends) for row in releases()} == {
        row.name: newest | ({"tensorflow"} if row.name <= "25.02" else set()) for row in releases()
    }


def test_a_release_pairs_with_the_builder_of_its_month() -> None:
    tags = {row.name: row.builder_tag for row in releases()}
    assert tags == {name: f"{name}-py3" for name in tags}


@pytest.mark.parametrize("field", ["python", "torch", "onnxruntime", "onnx_opset", "onnx_ir"])
def test_a_newer_release_never_has_something_older(field: str) -> None:
    result = [getattr(row, field) for row in releases() if getattr(row, field) is not None]
    versions = [
        Version(str(each)).release for each in result
    ]  # two commits of one version are equal
    assert len(versions) > 10
    assert versions == sorted(versions, reverse=True)


@pytest.mark.parametrize("field", ["tensorrt", "torch", "dali", "tensorflow", "onnxruntime"])
def test_every_version_is_one_that_pip_can_compare(field: str) -> None:
    result = [getattr(row, field) for row in releases() if getattr(row, field) is not None]
    assert [str(Version(each)) for each in result] == result


def test_opset_and_ir_are_known_where_the_onnx_runtime_is() -> None:
    fields = ("onnxruntime", "onnx_opset", "onnx_ir")
    wrong = [
        row for row in releases() if len({getattr(row, field) is None for field in fields}) > 1
    ]
    assert [row.name for row in wrong] == []


def test_one_onnx_runtime_accepts_one_opset_and_one_ir_in_whatever_release() -> None:
    accepted = {(row.onnxruntime, row.onnx_opset, row.onnx_ir) for row in releases()}
    assert len(accepted) == len({version for version, _, _ in accepted})


def test_tensorflow_has_a_version_only_where_it_is_shipped() -> None:
    known = [row.name for row in releases() if row.tensorflow]
    assert known == ["24.09", "24.05"]


def test_the_floor_of_compute_capability_never_falls() -> None:
    floors = [
        row.minimum_compute_capability
        for row in releases()
        if row.minimum_compute_capability is not None
    ]
    assert floors == sorted(floors, reverse=True)


def test_a_release_runs_on_its_floor_and_above_but_not_below() -> None:
    row = release("25.04")
    assert row.runs_on(ComputeCapability(7, 5)) is True
    assert row.runs_on(ComputeCapability(10, 0)) is True
    assert row.runs_on(ComputeCapability(7, 0)) is False


@pytest.mark.parametrize(("name", "runs"), [("22.08", False), ("22.09", None), ("25.09", True)])
def test_a_gpu_may_be_newer_than_a_release(name: str, runs: bool | None) -> None:
    # CUDA 11.8 brought 8.9 and 9.0; 22.08 is built with 11.7.
    assert release(name).runs_on(ComputeCapability(8, 9)) is runs


def test_whether_a_release_of_unknown_floor_runs_is_unknown() -> None:
    assert release("21.08").runs_on(ComputeCapability(8, 6)) is None


def test_an_unknown_release_is_refused_with_the_closest_and_all_names() -> None:
    with pytest.raises(UnknownFact) as refused:
        release("25.9")
    message = str(refused.value)
    assert message.startswith(
        'no SageMaker Triton release "25.9": did you mean 25.09? Known: 26.05, 26.03, 25.09, '
    )
    assert message.endswith(", 21.08")


def test_the_oldest_release_that_has_something_is_found() -> None:
    oldest = oldest_release(lambda row: (row.onnx_opset or 0) >= 20)
    assert oldest == release("24.03")
    assert oldest_release(lambda row: row.name > "99") is None
