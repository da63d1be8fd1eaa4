"""`python -m local_aws`: start, look at and stop the local AWS."""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

from local_aws import lifecycle
from local_aws.environment import client_environment
from local_aws.errors import LocalAwsError
from local_aws.folder import Folder, Running
from local_aws.hosting.capacity import DISK, MEMORY
from local_aws.hosting.launch import INSTANCES, instances_at_most
from local_aws.quotas.account import QUOTAS, AccountQuotas, quotas_here
from local_aws.sagemaker.clock import SPEED, speed_of_waits


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        options.command(options)
    except LocalAwsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m local_aws", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    up = commands.add_parser(
        "up",
        help="start it on loopback, with nothing deployed",
        epilog=f"Variables {MEMORY} and {DISK} set what every instance has.",
    )
    up.add_argument("--port", type=int, help="default: a free one")
    up.add_argument(
        "--instances", metavar="N", help="processes for a variant's instances at most; default: 2"
    )
    up.add_argument(
        "--speed", metavar="X", help="seconds of an update's waits in one second; default: 60"
    )
    up.add_argument(
        "--quota",
        metavar="NAME=N",
        action="append",
        help='a quota of the account, such as "ml.m5.xlarge for endpoint usage=1"; repeatable',
    )
    up.set_defaults(command=_up)
    commands.add_parser("down", help="stop it and all that it started").set_defaults(command=_down)
    env = commands.add_parser("env", help='shell exports: eval "$(python -m local_aws env)"')
    env.set_defaults(command=_env)
    commands.add_parser("status", help="where it listens, and its log").set_defaults(
        command=_status
    )
    serve = commands.add_parser("serve")  # what `up` starts; not for people
    serve.add_argument("root", type=Path)
    serve.add_argument("port", type=int)
    serve.set_defaults(command=_serve)
    emulate = commands.add_parser("emulate")  # what `serve` starts; not for people
    emulate.add_argument("root", type=Path)
    emulate.add_argument("port", type=int)
    emulate.add_argument("listener", type=int)
    emulate.set_defaults(command=_emulate)
    return parser


def _up(options: argparse.Namespace) -> None:
    folder = Folder.default()
    for name, value in {INSTANCES: options.instances, SPEED: options.speed}.items():
        if value is not None:
            os.environ[name] = value
    if options.quota:
        os.environ[QUOTAS] = json.dumps(dict(map(_quota, options.quota)))
    most = instances_at_most()
    if quotas := quotas_here():
        AccountQuotas(quotas)
    speed_of_waits()  # what is wrong is said before anything starts
    running = lifecycle.up(folder, port=options.port)
    print(f"local AWS at {running.url}, log {folder.log}")
    print(f"at most {most} processes stand for the instances of a variant")


def _quota(text: str) -> tuple[str, int]:
    name, _, value = text.rpartition("=")
    if not name or not value.isdecimal():
        raise LocalAwsError(f"--quota {text!r}: write a name and a whole number, NAME=N")
    return name, int(value)


def _down(_: argparse.Namespace) -> None:
    stopped = lifecycle.down(Folder.default())
    print("local AWS stopped" if stopped else "no local AWS is running")


def _env(_: argparse.Namespace) -> None:
    folder = Folder.default()
    for name, value in client_environment(_running(folder), folder).items():
        print(f"export {name}={shlex.quote(value)}")


def _status(_: argparse.Namespace) -> None:
    folder = Folder.default()
    print(f"local AWS at {_running(folder).url}, log {folder.log}")


def _running(folder: Folder) -> Running:
    running = folder.running()
    if running is None:
        raise LocalAwsError("no local AWS is running: start it with python -m local_aws up")
    return running


def _serve(options: argparse.Namespace) -> None:
    from local_aws.front import server

    server.run(Folder(options.root.resolve()), options.port)


def _emulate(options: argparse.Namespace) -> None:
    from local_aws import emulator

    emulator.run(Folder(options.root.resolve()), options.port, options.listener)


if __name__ == "__main__":
    sys.exit(main())
