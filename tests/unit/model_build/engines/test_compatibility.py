"""Which engines a builder's GPU compiles, held against NVIDIA's rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build import BuildError
from model_build.engines.compatibility import compatibility_level
from platform_facts import ComputeCapability, gpus, release

NOW = release("25.09")
capabilities = st.builds(ComputeCapability, st.integers(5, 12), st.integers(0, 9))


@given(capabilities)
def test_a_builder_compiles_for_its_own_kind_without_a_loss(own: ComputeCapability) -> None:
    assert compatibility_level(builder=own, served=own, release=NOW) == "none"


@given(capabilities, capabilities)
def test_across_kinds_only_gpus_from_ampere_on_compile_and_run(
    builder: ComputeCapability, served: ComputeCapability
) -> None:
    if builder == served:
        return
    if builder.major >= 8 and served.major >= 8:
        assert compatibility_level(builder=builder, served=served, release=NOW) == "ampere-plus"
    else:
        with pytest.raises(BuildError, match=f"compute capability {served} cannot be compiled"):
            compatibility_level(builder=builder, served=served, release=NOW)


def test_a_refusal_names_both_and_the_ways_out() -> None:
    with pytest.raises(BuildError) as refused:
        compatibility_level(
            builder=ComputeCapability(8, 6), served=ComputeCapability(7, 5), release=NOW
        )
    assert str(refused.value) == (
        "an engine for compute capability 7.5 cannot be compiled on a builder with 8.6: TensorRT "
        "compiles across kinds of GPUs from 8.0 up only. Choose an instance type with a GPU of 8.0 "
        "or newer (ml.g5 has 8.6), or serve the model as ONNX or TorchScript, which need no engine"
    )


def test_codebuilds_gpu_compiles_for_every_newer_one_that_sagemaker_hosts() -> None:
    builder = ComputeCapability(8, 6)  # the A10G of CodeBuild's GPU machines
    newer = [each for each in gpus() if each.compute_capability.major >= 8]
    assert newer
    for gpu in newer:
        assert compatibility_level(builder=builder, served=gpu.compute_capability, release=NOW)


@pytest.mark.parametrize("name", ["22.07", "23.01", "23.03"])
def test_releases_before_tensorrt_8_6_compile_for_the_builder_s_own_gpu_alone(name: str) -> None:
    a10g, l4 = ComputeCapability(8, 6), ComputeCapability(8, 9)
    assert compatibility_level(builder=a10g, served=a10g, release=release(name)) == "none"
    with pytest.raises(BuildError) as refused:
        compatibility_level(builder=a10g, served=l4, release=release(name))
    assert str(refused.value) == (
        "an engine for compute capability 8.9 cannot be compiled on a builder with 8.6 for Triton "
        f"{name}: TensorRT compiles across kinds of GPUs since 8.6. Choose Triton 23.05 or newer, "
        "or an instance type with a GPU of 8.6, or serve the model as ONNX or TorchScript, which "
        "need no engine"
    )
