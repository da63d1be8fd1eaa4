"""The outcome of a command: output and exit code."""

import argparse
import json
import os
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

from model_build.errors import BuildError
from plan.archives import ArchiveReplaced
from platform_facts.rules import checked_yaml

REGION = "AWS_DEFAULT_REGION"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """A command's result: `text`, or `data` with `--json`; `failed` or `errors` set exit code 1."""

    text: str
    data: Any
    failed: bool = False
    errors: Sequence[str] = ()


def exit_code(run: Callable[[argparse.Namespace], Outcome], options: argparse.Namespace) -> int:
    """Run a command and print its outcome; return 0, 1 if it failed, 130 if interrupted."""
    if not os.environ.get(REGION, "set"):
        # botocore uses an empty value as a region: https://s3..amazonaws.com
        del os.environ[REGION]
    code = 1
    try:
        outcome = run(options)
    except KeyboardInterrupt:
        message, code = "interrupted: run it again; completed work is not repeated", 130
    except Exception as error:
        if (text := error_message(error)) is None:
            raise
        message = text
    else:
        print(json.dumps(outcome.data, indent=2) if options.json else outcome.text)  # noqa: T201
        for message in outcome.errors:
            print(f"error: {message}", file=sys.stderr)  # noqa: T201
        return int(outcome.failed or bool(outcome.errors))
    print(f"error: {message}", file=sys.stderr)  # noqa: T201
    return code


def error_message(error: Exception) -> str | None:
    """Return the message of an expected error, None for an error of this program."""
    match error:
        case ArchiveReplaced() | BuildError() | checked_yaml.InvalidFile():
            return str(error)
        case OSError():
            return f"{error.filename}: {error.strerror}" if error.filename else str(error)
        case NoRegionError():
            return f"AWS: no region: set {REGION} to the stage's"
        case BotoCoreError() | ClientError():
            return f"AWS: {error}"
    return None
