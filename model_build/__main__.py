"""Build, check and publish Triton model archives."""

import argparse
import json
import sys

from botocore.exceptions import BotoCoreError, ClientError, NoRegionError

import checked_yaml
from model_build.commands import COMMANDS, Outcome
from model_build.errors import BuildError


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 where it failed, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m model_build", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in COMMANDS:
        module.add_to(commands)
    options = parser.parse_args(arguments)
    try:
        outcome: Outcome = options.run(options)
    except (BuildError, checked_yaml.InvalidFile) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except NoRegionError:
        print("error: AWS: no region: set AWS_DEFAULT_REGION to the stage's", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print(
            "error: interrupted: run it again, and nothing that is done is done twice",
            file=sys.stderr,
        )
        return 130
    except (BotoCoreError, ClientError) as error:
        print(f"error: AWS: {error}", file=sys.stderr)
        return 1
    print(json.dumps(outcome.data, indent=2) if options.json else outcome.text)
    return int(outcome.failed)


if __name__ == "__main__":
    sys.exit(main())
