import pytest

from platform_facts import UnknownFact, backend, backends


def test_only_tensorflow_has_a_last_release() -> None:
    last_releases = {row.name: row.last_release for row in backends() if row.last_release}
    assert last_releases == {"tensorflow": "25.02"}


def test_backend_availability_ends_with_its_last_release() -> None:
    assert backend("tensorflow").is_in("25.02")
    assert not backend("tensorflow").is_in("25.03")
    assert backend("onnxruntime").is_in("26.05")


def test_unknown_backend_error_lists_names() -> None:
    with pytest.raises(UnknownFact, match=r'no Triton backend "onnx"\. Known:'):
        backend("onnx")
