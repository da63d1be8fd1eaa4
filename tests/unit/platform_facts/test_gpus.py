import pytest

from platform_facts import ComputeCapability, UnknownFact, codebuild_gpu, gpu, gpus, release


def test_gpus_are_sorted_by_compute_capability() -> None:
    capabilities = [row.compute_capability for row in gpus()]
    assert capabilities == sorted(capabilities)


def test_codebuild_gpu_and_unsupported_gpus() -> None:
    assert codebuild_gpu().compute_capability == ComputeCapability(8, 6)
    newest = release("26.05")
    assert [
        row.name for row in gpus() if newest.required_compute_capability(row.compute_capability)
    ] == ["K80", "V100"]


def test_unknown_gpu_error_lists_names() -> None:
    with pytest.raises(UnknownFact, match=r'no GPU "A10": did you mean A10G or A100\? Known: K80'):
        gpu("A10")
