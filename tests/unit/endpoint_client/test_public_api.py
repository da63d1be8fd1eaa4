import re
from collections.abc import Iterator

import pytest

import endpoint_client
from endpoint_client import EndpointError


def drawn() -> dict[str, str]:
    """Return the exceptions in the docstring's tree, with what it says of each."""
    lines = re.findall(r"[├└]── (\w+) +(.+)", str(endpoint_client.__doc__))
    return dict(lines)


def subclasses(kind: type[EndpointError]) -> Iterator[type[EndpointError]]:
    for each in kind.__subclasses__():
        yield each
        yield from subclasses(each)


CLIENTS = {"AsyncEndpointClient", "CatalogEntry", "EndpointClient", "ModelCall", "Tensor"}


def test_all_names_the_clients_the_entries_and_the_exceptions_of_the_docstring() -> None:
    assert set(endpoint_client.__all__) == {"EndpointError", *drawn(), *CLIENTS}
    assert endpoint_client.__all__ == sorted(endpoint_client.__all__)


def test_all_names_everything_public_and_nothing_else() -> None:
    public = {name for name in vars(endpoint_client) if not name.startswith("_")}
    assert set(endpoint_client.__all__) == public - {"metrics"}


def test_the_drawn_tree_is_the_one_that_is_raised() -> None:
    raised = {kind.__name__ for kind in subclasses(EndpointError)}
    assert set(drawn()) == raised & set(endpoint_client.__all__)
    assert EndpointError.__base__ is Exception


@pytest.mark.parametrize("name", drawn())
def test_the_tree_marks_the_exceptions_after_which_a_retry_is_safe(name: str) -> None:
    assert getattr(endpoint_client, name).retry_safe == drawn()[name].endswith("(*)")


@pytest.mark.parametrize("name", endpoint_client.__all__)
def test_every_public_name_is_explained(name: str) -> None:
    assert getattr(endpoint_client, name).__doc__
