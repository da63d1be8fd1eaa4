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
def test_what_a_target_writes_it_reads(target: BuildTarget) -> None:
    assert BuildTarget.parse(str(target)) == target


@pytest.mark.parametrize(
    ("written", "target", "processor"),
    [
        ("cpu-24.09", BuildTarget(release="24.09"), "cpu"),
        ("cuda-25.09-sm86", BuildTarget(release="25.09", compute_capability="8.6"), "cuda"),
        ("cuda-26.05-sm100", BuildTarget(release="26.05", compute_capability="10.0"), "cuda"),
        ("cpu-24.09-py311", BuildTarget(release="24.09", python="3.11"), "cpu"),
        (
            "cuda-25.09-sm86-py39",
            BuildTarget(release="25.09", compute_capability="8.6", python="3.9"),
            "cuda",
        ),
    ],
)
def test_a_target_names_its_release_gpu_and_python(
    written: str, target: BuildTarget, processor: str
) -> None:
    assert BuildTarget.parse(written) == target
    assert str(target) == written
    assert target.processor == processor


@pytest.mark.parametrize(
    "written",
    [
        *("", "cpu", "cpu-", "24.09", "cpu-24.9", "cpu-24.09-sm86", "CPU-24.09", "cpu-24.09\n"),
        *("cuda-25.09", "cuda-25.09-8.6", "cuda-25.09-sm", "cuda-25.09-sm8.6", " cuda-25.09-sm86"),
        *("cuda-25.09-sm8", "cuda-25.09-sm06", "cuda-25.09-sm086", "cuda-25.09-sm1000"),
        *("cpu-24.09-py3", "cpu-24.09-py211", "cpu-24.09-py3.11", "cpu-24.09-py301"),
        *("cpu-24.09-", "cpu-24.09-py311-sm86", "cuda-25.09-py311", "cpu-24.09-py3111"),
        *("cpu-\u0662\u0664.\u0660\u0669", "cuda-25.09-sm\u0668\u0666"),
    ],
)
def test_any_other_text_is_refused_and_shown_two_right_ones(written: str) -> None:
    with pytest.raises(ValueError) as refused:  # noqa: PT011 - the whole message is compared
        BuildTarget.parse(written)
    assert str(refused.value) == (
        f"{written!r} is not a build target: write cpu-RELEASE or cuda-RELEASE-smCAPABILITY, for "
        "example cpu-24.09 or cuda-25.09-sm86, and -py311 behind it where Python is not the "
        "release's"
    )


@pytest.mark.parametrize(
    ("release", "python", "prefix"),
    [
        ("24.09", "3.10", "cpu-24.09"),  # the image has 3.10.12
        ("24.09", "3.11", "cpu-24.09-py311"),
        ("25.09", "3.12", "cpu-25.09"),
        ("25.09", "3.1", "cpu-25.09-py31"),  # and not 3.12.3
        ("21.08", "3.8", "cpu-21.08-py38"),  # nobody knows the image's
    ],
)
def test_only_another_python_than_the_images_has_a_prefix_of_its_own(
    release: str, python: str, prefix: str
) -> None:
    assert str(BuildTarget(release=release).with_python(python)) == prefix


@pytest.mark.parametrize("written", ["", "3", "3.10.12", "2.7", "3.011", "python3.11", "3.11\n"])
def test_what_is_no_version_of_python_is_refused(written: str) -> None:
    message = f"TRITON_PYTHON is {written!r}, no version of Python: write one such as 3.11, or "
    with pytest.raises(BuildError, match=re.escape(message)):
        BuildTarget(release="24.09").with_python(written)
