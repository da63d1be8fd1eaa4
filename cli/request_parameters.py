"""`--parameter`: parameters of a request, such as its sequence id.

Source: triton-inference-server/server, docs/protocol/extension_parameters.md and
extension_sequence.md.
"""

import argparse
import json
from collections.abc import Iterable

from cli.errors import CommandError

Parameters = dict[str, bool | int | float | str]
SEQUENCE = "sequence_id"


def add_option(parser: argparse.ArgumentParser) -> None:
    """Add `--parameter`."""
    parser.add_argument(
        "--parameter",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a parameter of the request: true, false, a number or text, such as sequence_id=7 "
        "sequence_start=true for a model with sequence_batching; repeatable",
    )


def parse(arguments: Iterable[str]) -> Parameters:
    """Return name -> value. Raise `CommandError` for an argument that is not NAME=VALUE."""
    parameters: Parameters = {}
    for argument in arguments:
        name, equals, text = argument.partition("=")
        if not name or not equals:
            raise CommandError(f"--parameter {argument!r}: write NAME=VALUE")
        if name in parameters:
            raise CommandError(f"--parameter {argument!r}: {name} is set twice: keep one")
        parameters[name] = _value(text)
    return parameters


def _value(text: str) -> bool | int | float | str:
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, bool | int | float) else text
