"""How the commands of this room end."""

import argparse
import sys
from collections.abc import Callable

from botocore.exceptions import BotoCoreError, ClientError

import checked_yaml
from local_sagemaker import LocalSageMakerError
from model_build import BuildError
from release.delivery.errors import NotDelivered
from release.tree import CheckoutError
from stages import UnknownStage


class CommandError(Exception):
    """What was asked for cannot be done; says what to write instead."""


SAID = (
    BuildError,
    CheckoutError,
    CommandError,
    LocalSageMakerError,
    NotDelivered,
    UnknownStage,
    checked_yaml.InvalidFile,
)
"""Errors of the rooms whose text is for the person who asked."""


def exit_code(
    run: Callable[[argparse.Namespace], int],
    options: argparse.Namespace,
    expected: tuple[type[Exception], ...] = (),
) -> int:
    """Run a command and return its exit code: 1 for an error of `SAID` or one that is expected."""
    printed: tuple[type[Exception], ...] = (*SAID, *expected)
    try:
        return run(options)
    except printed as error:
        print(f"error: {error}", file=sys.stderr)
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
    return 1
