"""`--local`: send the AWS calls of a command to the local SageMaker."""

import argparse
import os
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # commands on AWS, which have credentials, must not import the package
    from local_sagemaker import RunningSageMaker

ACCOUNT = "000000000000"
"""The account of the local SageMaker, as `local_sagemaker.ACCOUNT`."""
RELEASE = "24.09"
"""The SageMaker release closest to the local Triton, as in stages/local.yaml."""


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add the option."""
    parser.add_argument(
        "--local",
        action="store_true",
        help="call the local SageMaker (tritonsm up) instead of AWS",
    )


def run(command: Callable[[], int]) -> int:
    """Run a command with the local SageMaker; return 1 if no local SageMaker is running."""
    import local_sagemaker
    from local_sagemaker import Folder, LocalSageMakerError

    try:
        with local_sagemaker.while_running(Folder.default(), use_local_sagemaker()):
            return command()
    except LocalSageMakerError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1


def use_local_sagemaker() -> "RunningSageMaker":
    """Set the environment of this process for the local SageMaker; return its port and process.

    Raise `LocalSageMakerError` if no local SageMaker is running.
    """
    from local_sagemaker import Folder, client_environment

    folder = Folder.default()
    running = folder.require_running()
    os.environ.update(client_environment(running, folder))
    return running
