import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from model_build import BuildError, BuildTarget

releases = st.from_regex(r"[0-9]{2}\.[0-9]{2}", fullmatch=True)
capabilities = st.none() | st.builds("{}.{}".format, st.integers(1, 99), st.integers(0, 9))
pythons = st.none() | st.builds("3.{}".format, st.integers(0, 99))
targets = st.builds(BuildTarget, release=releases, compute_capability=capabilities, python=pythons)


@given(targets)
def test_printed_target_is_parsed_back(target: BuildTarget) -> None:
    assert BuildTarget.parse(str(target)) == target


@pytest.mark.parametrize(
    ("text", "target", "processor"),
    [
        ("cpu-24.09-py311", BuildTarget(release="24.09", python="3.11"), "cpu"),
        ("cuda-26.05-sm100", BuildTarget(release="26.05", compute_capability="10.0"), "cuda"),
        ("cuda-25.09-sm86-py39",
         BuildTarget(release="25.09", compute_capability="8.6", python="3.9"), "cuda"),
    ],
)  # fmt: skip
def test_parse_reads_release_gpu_and_python(text: str, target: BuildTarget, processor: str) -> None:
    assert BuildTarget.parse(text) == target
    assert str(target) == text
    assert target.processor == processor


@pytest.mark.parametrize(
    "text",
    [
        *("", "24.09", "cpu-24.9", "cpu-24.09-sm86", "cpu-24.09\n", " cuda-25.09-sm86"),
        *("cuda-25.09", "cuda-25.09-sm8.6", "cuda-25.09-sm8", "cuda-25.09-sm06"),
        *("cuda-25.09-sm1000", "cpu-24.09-py3", "cpu-24.09-py211", "cpu-24.09-py301"),
        *("cpu-24.09-py311-sm86", "cuda-25.09-sm\u0668\u0666"),
    ],
)
def test_invalid_target_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011 - the whole message is compared
        BuildTarget.parse(text)
    assert str(error.value).startswith(f"{text!r} is not a build target: write cpu-RELEASE or")


@pytest.mark.parametrize(
    ("release", "python", "prefix"),
    [
        ("24.09", "3.10", "cpu-24.09"),  # version of the image: 3.10.12
        ("24.09", "3.11", "cpu-24.09-py311"),
        ("25.09", "3.12", "cpu-25.09"),
        ("25.09", "3.1", "cpu-25.09-py31"),
    ],
)
def test_python_of_the_image_is_not_in_the_prefix(release: str, python: str, prefix: str) -> None:
    assert str(BuildTarget(release=release).with_python(python)) == prefix


@pytest.mark.parametrize("text", ["", "3", "3.10.12", "2.7", "3.011", "python3.11", "3.11\n"])
def test_invalid_python_version_is_refused(text: str) -> None:
    message = f"TRITON_PYTHON is {text!r}, not a Python version: write one such as 3.11, or "
    with pytest.raises(BuildError, match=re.escape(message)):
        BuildTarget(release="24.09").with_python(text)
