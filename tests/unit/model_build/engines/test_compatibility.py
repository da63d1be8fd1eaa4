"""Compute capabilities for which a GPU can compile TensorRT engines."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build import BuildError
from model_build.engines.compatibility import compatibility_level
from platform_facts import ComputeCapability, gpus, release

RELEASE = release("25.09")
capabilities = st.builds(ComputeCapability, st.integers(5, 12), st.integers(0, 9))


@given(capabilities)
def test_own_capability_needs_no_compatibility_level(capability: ComputeCapability) -> None:
    assert (
        compatibility_level(builder_gpu=capability, target_gpu=capability, release=RELEASE)
        == "none"
    )


@given(capabilities, capabilities)
def test_other_capability_requires_ampere_or_newer(
    builder_gpu: ComputeCapability, target_gpu: ComputeCapability
) -> None:
    if builder_gpu == target_gpu:
        return
    if builder_gpu.major >= 8 and target_gpu.major >= 8:
        assert (
            compatibility_level(builder_gpu=builder_gpu, target_gpu=target_gpu, release=RELEASE)
            == "ampere-plus"
        )
    else:
        with pytest.raises(BuildError, match=f"compute capability {target_gpu} cannot be compiled"):
            compatibility_level(builder_gpu=builder_gpu, target_gpu=target_gpu, release=RELEASE)


def test_error_has_both_capabilities_and_alternatives() -> None:
    with pytest.raises(BuildError) as error:
        compatibility_level(
            builder_gpu=ComputeCapability(8, 6), target_gpu=ComputeCapability(7, 5), release=RELEASE
        )
    assert str(error.value) == (
        "an engine for compute capability 7.5 cannot be compiled on a builder with 8.6: TensorRT "
        "compiles across kinds of GPUs from 8.0 up only. Choose an instance type with a GPU of 8.0 "
        "or newer (ml.g5 has 8.6), or serve the model as ONNX or TorchScript, which need no engine"
    )


def test_codebuild_compiles_for_all_newer_gpus_of_sagemaker() -> None:
    builder_gpu = ComputeCapability(8, 6)  # A10G, the GPU of CodeBuild
    newer = [gpu for gpu in gpus() if gpu.compute_capability.major >= 8]
    assert newer
    for gpu in newer:
        assert compatibility_level(
            builder_gpu=builder_gpu, target_gpu=gpu.compute_capability, release=RELEASE
        )


@pytest.mark.parametrize("name", ["22.07", "23.01", "23.03"])
def test_releases_before_tensorrt_8_6_compile_only_for_the_own_gpu(name: str) -> None:
    a10g, l4 = ComputeCapability(8, 6), ComputeCapability(8, 9)
    assert compatibility_level(builder_gpu=a10g, target_gpu=a10g, release=release(name)) == "none"
    with pytest.raises(BuildError) as error:
        compatibility_level(builder_gpu=a10g, target_gpu=l4, release=release(name))
    assert str(error.value) == (
        "an engine for compute capability 8.9 cannot be compiled on a builder with 8.6 for Triton "
        f"{name}: TensorRT compiles across kinds of GPUs since 8.6. Choose Triton 23.05 or newer, "
        "or an instance type with a GPU of 8.6, or serve the model as ONNX or TorchScript, which "
        "need no engine"
    )
