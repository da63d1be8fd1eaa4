"""Start and stop the local SageMaker, and print its environment variables."""

import argparse
import json
import os
import shlex
import sys
from collections.abc import Callable
from functools import partial
from typing import TypeAlias

from local_sagemaker import lifecycle, settings
from local_sagemaker.environment import client_environment
from local_sagemaker.errors import LocalSageMakerError, printable
from local_sagemaker.folder import Folder
from local_sagemaker.quotas import AccountQuotas, configured_quotas

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
"""The result of `ArgumentParser.add_subparsers`."""


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return its exit code."""
    parser = argparse.ArgumentParser(prog="local-sagemaker", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    add_to(commands)
    options = parser.parse_args(arguments)
    code: int = options.run(options)
    return code


def add_to(commands: Commands) -> None:
    """Add the commands. The option `run` of each is a function that returns the exit code."""
    up = commands.add_parser(
        "up",
        help="start the local SageMaker",
        description="Start the local SageMaker on loopback, with nothing deployed or, with --keep, "
        "with what was deployed when it ended.",
        epilog=f"{settings.MEMORY} and {settings.DISK} set the memory and disk of every instance.",
    )
    up.add_argument("--port", type=int, help="default: a free port")
    up.add_argument(
        "--instances",
        metavar="N",
        help="maximum number of processes per variant that represent its instances; default: 2",
    )
    up.add_argument(
        "--speed",
        metavar="X",
        help="factor by which AWS's waits and periods are shortened; default: 60",
    )
    up.add_argument(
        "--capacity",
        metavar="TYPE=N",
        action="append",
        help="available instances of a type, such as ml.g6.xlarge=0; repeatable",
    )
    up.add_argument(
        "--keep",
        action="store_true",
        help="restore buckets, stacks, endpoints and other resources of the last run",
    )
    up.add_argument(
        "--tritonserver",
        metavar="PATH",
        help="folder of another tritonserver, with bin, lib and backends",
    )
    up.set_defaults(run=partial(_exit_code, _up))
    down = commands.add_parser(
        "down",
        help="stop the local SageMaker and all its processes",
        description="Stop the local SageMaker and all its processes.",
    )
    down.set_defaults(run=partial(_exit_code, _down))
    env = commands.add_parser(
        "env",
        help="print the environment variables for the local SageMaker",
        description='Print shell exports for the local SageMaker: eval "$(tritonsm env)".',
    )
    env.set_defaults(run=partial(_exit_code, _env))


def _exit_code(run: Callable[[argparse.Namespace], None], options: argparse.Namespace) -> int:
    try:
        run(options)
    except LocalSageMakerError as error:
        print(f"error: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


def _up(options: argparse.Namespace) -> None:
    folder = Folder.default()
    for name, value in {
        settings.INSTANCES: options.instances,
        settings.SPEED: options.speed,
        settings.TRITONSERVER: options.tritonserver,
    }.items():
        if value is not None:
            os.environ[name] = value
    if options.capacity:
        os.environ[settings.CAPACITY] = json.dumps(dict(map(_parse_capacity, options.capacity)))
    max_processes = settings.max_processes()
    if quotas := configured_quotas():
        AccountQuotas(quotas)  # like `speed`, raises configuration errors before a process starts
    settings.speed()
    running = lifecycle.up(folder, port=options.port, keep=options.keep)
    print(f"local SageMaker at {running.url}, log {folder.log}")
    print(f"dashboard: {running.page}")
    print(f"at most {max_processes} processes per variant represent its instances")


def _parse_capacity(text: str) -> tuple[str, int]:
    name, _, value = text.rpartition("=")
    if not name or not value.isdecimal():
        raise LocalSageMakerError(f"--capacity {text!r}: expected TYPE=N, with N a whole number")
    return name, int(value)


def _down(_: argparse.Namespace) -> None:
    stopped = lifecycle.down(Folder.default())
    print("local SageMaker stopped" if stopped else "no local SageMaker is running")


def _env(_: argparse.Namespace) -> None:
    folder = Folder.default()
    for name, value in client_environment(folder.require_running(), folder).items():
        print(f"export {name}={shlex.quote(value)}")


if __name__ == "__main__":
    sys.exit(main())
