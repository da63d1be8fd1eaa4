import re

import pytest

import endpoint_client
from endpoint_client import EndpointError, ModelFailed


def drawn() -> dict[str, str]:
    """Return the exceptions in the docstring's tree, with what it says of each."""
    lines = re.findall(r"[├└]── (\w+) +(.+)", str(endpoint_client.__doc__))
    return dict(lines)


def test_all_names_the_client_the_entries_and_the_exceptions_of_the_docstring() -> None:
    promised = {"EndpointError", *drawn(), "EndpointClient", "CatalogEntry", "Tensor"}
    assert set(endpoint_client.__all__) == promised
    assert endpoint_client.__all__ == sorted(endpoint_client.__all__)


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {name for name in vars(endpoint_client) if not name.startswith("_")}
    assert set(endpoint_client.__all__) == public


def test_the_drawn_tree_is_the_one_that_is_raised() -> None:
    assert list(drawn()) == ["UnknownModel", "InvalidInput", "ModelNotReady", "ModelFailed"]
    for name in drawn():
        assert getattr(endpoint_client, name).__base__ is EndpointError, name
    assert EndpointError.__base__ is Exception


@pytest.mark.parametrize("name", endpoint_client.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    assert getattr(endpoint_client, name).__doc__


def test_a_failure_has_the_containers_status() -> None:
    error = ModelFailed("minilm: out of memory", status=507)
    assert (str(error), error.status) == ("minilm: out of memory", 507)
