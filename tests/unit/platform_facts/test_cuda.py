import pytest

from platform_facts import cuda_satisfies


@pytest.mark.parametrize(
    ("offered", "needed"),
    [
        ("12.4", "12.4.1"),
        ("12.4", "12.9.0"),  # minor-version compatibility: 25.04 on gpu-3-1
        ("13.0", "12.6.1"),
        ("13.0", "13.2.1.009"),  # 26.05 on gpu-4-1
        ("11.4", "11.8"),
    ],
)
def test_driver_supports_its_major_version_and_older(offered: str, needed: str) -> None:
    assert cuda_satisfies(offered=offered, needed=needed)


@pytest.mark.parametrize(("offered", "needed"), [("12.4", "13.0.1"), ("11.4", "12.0.1")])
def test_driver_does_not_support_a_newer_major_version(offered: str, needed: str) -> None:
    assert not cuda_satisfies(offered=offered, needed=needed)


@pytest.mark.parametrize("text", ["", "12", "twelve.four", "470"])
def test_invalid_version_is_an_error(text: str) -> None:
    with pytest.raises(ValueError, match=r'is not a CUDA version: write it like "12\.4"'):
        cuda_satisfies(offered=text, needed="12.4")
    with pytest.raises(ValueError, match="is not a CUDA version"):
        cuda_satisfies(offered="12.4", needed=text)
