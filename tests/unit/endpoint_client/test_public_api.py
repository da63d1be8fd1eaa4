"""The package's public names, and the tree of exceptions in its docstring."""

import pickle
import re

import pytest

import endpoint_client
from endpoint_client import ModelFailed, PartlyFailed

DOCUMENTED = dict(re.findall(r"[├└]── (\w+) +(.+)", str(endpoint_client.__doc__)))
"""Descriptions of the exceptions in the docstring, by name."""


@pytest.mark.parametrize("name", DOCUMENTED)
def test_docstring_marks_retry_safe_exceptions(name: str) -> None:
    assert getattr(endpoint_client, name).retry_safe == DOCUMENTED[name].endswith("(*)")


@pytest.mark.parametrize("name", ["EndpointError", *DOCUMENTED])
def test_exceptions_can_be_pickled(name: str) -> None:
    error = getattr(endpoint_client, name)("message", status=503, request_id="r-1")
    if isinstance(error, PartlyFailed):
        error.failures, error.rows, error.outputs = {1: ModelFailed("no")}, [0], {}
    copy = pickle.loads(pickle.dumps(error))
    assert (type(copy), str(copy)) == (type(error), str(error))
    assert {**vars(copy), "failures": 0} == {**vars(error), "failures": 0}
