"""Enumerations of the SageMaker API, from botocore."""

from collections.abc import Callable

import pytest
from botocore.loaders import Loader

EnumValues = Callable[[str], set[str]]


@pytest.fixture(scope="package")
def enum_values() -> EnumValues:
    """Return the function that returns the values of an enumeration by its shape name."""
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    return lambda shape: set(shapes[shape]["enum"])
