"""What AWS's API accepts, as botocore has it."""

from collections.abc import Callable

import pytest
from botocore.loaders import Loader

Accepted = Callable[[str], set[str]]


@pytest.fixture(scope="package")
def accepted() -> Accepted:
    """The values of one of SageMaker's enumerations, by the name of its shape."""
    shapes = Loader().load_service_model("sagemaker", "service-2")["shapes"]
    return lambda shape: set(shapes[shape]["enum"])
