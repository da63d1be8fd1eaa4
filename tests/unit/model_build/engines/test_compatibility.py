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


@pytest.mark.parametrize(("name", "version"), [("24.03", "8.6.3"), ("23.05", "not known")])
def test_releases_before_tensorrt_10_have_no_engines(name: str, version: str) -> None:
    gpu = ComputeCapability(8, 6)
    with pytest.raises(BuildError, match=f"{name}, .* {version}: .* choose Triton 24.05 or newer"):
        compatibility_level(builder_gpu=gpu, target_gpu=gpu, release=release(name))
