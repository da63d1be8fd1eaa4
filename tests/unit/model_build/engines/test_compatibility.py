"""Compute capabilities for which a GPU can compile TensorRT engines."""

from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build import BuildError
from model_build.engines.compatibility import compatibility_level
from platform_facts import ComputeCapability, release

RELEASE = release("25.09")
capabilities = st.builds(ComputeCapability, st.integers(5, 12), st.integers(0, 9))


@given(capabilities, capabilities)
def test_other_capability_requires_ampere_or_newer(
    builder_gpu: ComputeCapability, target_gpu: ComputeCapability
) -> None:
    level = partial(
        compatibility_level, builder_gpu=builder_gpu, target_gpu=target_gpu, release=RELEASE
    )
    if builder_gpu == target_gpu:
        assert level() == "none"
    elif builder_gpu.major >= 8 and target_gpu.major >= 8:
        assert level() == "ampere-plus"
    else:
        with pytest.raises(BuildError, match=f"{target_gpu} cannot be compiled on"):
            level()


@pytest.mark.parametrize("name", ["22.07", "23.01", "23.03"])
def test_releases_before_tensorrt_8_6_compile_only_for_the_own_gpu(name: str) -> None:
    a10g, l4 = ComputeCapability(8, 6), ComputeCapability(8, 9)
    assert compatibility_level(builder_gpu=a10g, target_gpu=a10g, release=release(name)) == "none"
    with pytest.raises(
        BuildError, match=f"8.9 cannot .* for Triton {name}: .* Triton 23.05 or newer"
    ):
        compatibility_level(builder_gpu=a10g, target_gpu=l4, release=release(name))
