"""SageMaker endpoints of NVIDIA Triton on one machine: the AWS API, with a real Triton behind it.

This module, `prerequisites`, `serving` and `settings` are the package's API.
"""

from local_sagemaker.environment import ACCOUNT, PYTHON_VARIABLE, REGION, client_environment
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.folder import Folder, RunningSageMaker
from local_sagemaker.lifecycle import LOOPBACK_OPENER, down, up, while_running

__all__ = [
    "ACCOUNT",
    "LOOPBACK_OPENER",
    "PYTHON_VARIABLE",
    "REGION",
    "Folder",
    "LocalSageMakerError",
    "RunningSageMaker",
    "client_environment",
    "down",
    "up",
    "while_running",
]
