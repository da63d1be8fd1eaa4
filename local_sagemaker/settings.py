"""Environment variables of the server process; the options of `up` set them."""

import os
import re

from local_sagemaker.errors import LocalSageMakerError

CAPACITY = "LOCAL_SAGEMAKER_CAPACITY"
DISK = "LOCAL_SAGEMAKER_INSTANCE_DISK_MIB"
INSTANCES = "LOCAL_SAGEMAKER_INSTANCES"
MEMORY = "LOCAL_SAGEMAKER_INSTANCE_MEMORY_MIB"
QUOTAS = "LOCAL_SAGEMAKER_QUOTAS"
SPEED = "LOCAL_SAGEMAKER_SPEED"
TRITONSERVER = "LOCAL_SAGEMAKER_TRITONSERVER"


def whole_number(variable: str) -> int | None:
    """Return the value of a variable. Raise `LocalSageMakerError` unless it is a whole number."""
    value = os.environ.get(variable)
    if not value:
        return None
    if not re.fullmatch("[1-9][0-9]*", value):
        raise LocalSageMakerError(f"{variable} is {value!r}: expected a whole number above 0")
    return int(value)


def max_processes() -> int:
    """Return the maximum number of processes that represent a variant's instances."""
    return whole_number(INSTANCES) or 2


def speed() -> float:
    """Return the factor by which AWS's waits and periods are shortened.

    It applies to waits of updates, cooldowns, alarm evaluation, and periods of metrics and alarms:
    one factor, so that an update bakes for as many alarm periods as on AWS. Raise
    `LocalSageMakerError` unless the value is a number above 0.
    """
    value = os.environ.get(SPEED) or "60"
    if not re.fullmatch(r"\d+(\.\d+)?", value) or not float(value):
        raise LocalSageMakerError(f"{SPEED} is {value!r}: expected a number above 0, such as 60")
    return float(value)
