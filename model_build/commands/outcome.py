"""What a command has to say, and how it ends."""

import argparse
import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

import checked_yaml
from model_build.errors import BuildError

REGION = "AWS_DEFAULT_REGION"


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """`text` for people, `data` for `--json`; `failed` makes the exit code 1."""

    text: str
    data: Any
    failed: bool = False


def exit_code(run: Callable[[argparse.Namespace], Outcome], options: argparse.Namespace) -> int:
    """Run a command and print its outcome; return 0, 1 where it failed, 130 where interrupted."""
    if not os.environ.get(REGION, "set"):
        del os.environ[
            REGION
        ]  # botocore takes an empty one for a region: https://s3..amazonaws.com
    try:
        outcome = run(options)
    except (BuildError, checked_yaml.InvalidFile) as error:
        print(f"error: {error}", file=sys.stderr)  # noqa: T201
        return 1
    except (FileExistsError, NotADirectoryError, PermissionError) as error:
        print(f"error: {error.filename}: {error.strerror}", file=sys.stderr)  # noqa: T201
        return 1
    except NoRegionError:
        print(f"error: AWS: no region: set {REGION} to the stage's", file=sys.stderr)  # noqa: T201
        return 1
    except KeyboardInterrupt:
        print(  # noqa: T201
            "error: interrupted: run it again, and nothing that is done is done twice",
            file=sys.stderr,
        )
        return 130
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)  # noqa: T201
        return 1
    print(json.dumps(outcome.data, indent=2) if options.json else outcome.text)  # noqa: T201
    return int(outcome.failed)
