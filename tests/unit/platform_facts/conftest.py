"""Enumerations of the SageMaker API, from botocore."""

from functools import cache

from botocore.loaders import Loader


@cache
def enum_values(shape: str) -> set[str]:
    """Return the values of an enumeration."""
    return set(Loader().load_service_model("sagemaker", "service-2")["shapes"][shape]["enum"])
