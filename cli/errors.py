"""Exit codes and error messages of the commands."""

import argparse
import sys
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

from delivery.errors import NotDelivered
from endpoint_client import EndpointError
from model_build import BuildError
from plan.archives import ArchiveReplaced
from plan.golden import InvalidGolden
from platform_facts.rules import checked_yaml
from release.checkout import CheckoutError
from stages import UnknownStage


class CommandError(Exception):
    """An error of a command; the message has the fix."""


EXPECTED_ERRORS = (
    ArchiveReplaced,
    BuildError,
    CheckoutError,
    CommandError,
    EndpointError,
    InvalidGolden,
    NotDelivered,
    UnknownStage,
    checked_yaml.InvalidFile,
)
"""Errors whose message is printed without a traceback."""


def run_command(run: Callable[[argparse.Namespace], int], options: argparse.Namespace) -> int:
    """Run a command and return its exit code: 1 for an error in `EXPECTED_ERRORS`."""
    try:
        return run(options)
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
    except Exception as error:
        # Not imported here, because a delivery, which has credentials, must not import the package.
        local = sys.modules.get("local_sagemaker")
        if not isinstance(
            error, (*EXPECTED_ERRORS, *((local.LocalSageMakerError,) if local else ()))
        ):
            raise
        print(f"error: {error}", file=sys.stderr)
    return 1
