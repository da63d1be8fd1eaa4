import pytest

from platform_facts import ComputeCapability, UnknownFact, codebuild_gpu, gpu, gpus


def test_gpus_are_sorted_by_compute_capability() -> None:
    capabilities = [row.compute_capability for row in gpus()]
    assert capabilities == sorted(capabilities)


def test_oldest_gpu_is_supported_by_the_newest_release() -> None:
    # NVIDIA's release notes of 25.01 and newer: "compute capability 7.5 and later".
    assert gpus()[0].compute_capability == ComputeCapability(7, 5)
    assert codebuild_gpu().compute_capability == ComputeCapability(8, 6)


def test_unknown_gpu_error_lists_names() -> None:
    with pytest.raises(UnknownFact, match=r'no GPU "A10": did you mean A10G or A100\? Known: T4'):
        gpu("A10")
