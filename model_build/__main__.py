"""Build, check and publish Triton model archives."""

import argparse
import sys

from model_build.commands import BUILDER_COMMANDS, COMMANDS


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code: 0, 1 if it failed, 2 for wrong arguments."""
    parser = argparse.ArgumentParser(prog="python -m model_build", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for module in (*COMMANDS, *BUILDER_COMMANDS):
        module.add_to(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


if __name__ == "__main__":
    sys.exit(main())
