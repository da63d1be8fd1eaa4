"""Command dispatch: parse the arguments and import the module of one command."""

import difflib
import importlib
import sys
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec

from cli.commands import COMMANDS, GROUPS, NEED_ALL_PACKAGES, STAGE_MODEL_COMMANDS, Command

HELP = ("-h", "--help", "help")


def parse_command(arguments: list[str]) -> Callable[[], int]:
    """Return a function that runs the command of the arguments and returns its exit code.

    Raise `SystemExit` for wrong arguments, or if the command's packages are not installed.
    """
    name = arguments[0] if arguments else HELP[0]
    if name in HELP:
        return _help()
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        print(f"error: no command {name!r}: {guess}tritonsm --help lists all", file=sys.stderr)
        raise SystemExit(2)
    if name in NEED_ALL_PACKAGES and find_spec("torch") is None:
        print(
            f"error: tritonsm {name} needs packages that make install-cdk leaves out: make install",
            file=sys.stderr,
        )
        raise SystemExit(1)
    return _command(COMMANDS[name], arguments)


def _help() -> Callable[[], int]:
    from cli import help_format

    return partial(help_format.print_overview, GROUPS)


def _command(command: Command, arguments: list[str]) -> Callable[[], int]:
    from cli import help_format, local_option

    parser = help_format.Parser(prog="tritonsm")
    commands = parser.add_subparsers(
        required=True, metavar="COMMAND", parser_class=help_format.Parser
    )
    importlib.import_module(command.module).add_to(commands)
    if command.calls_aws:
        local_option.add_option(commands.choices[command.name])
    options = parser.parse_args(arguments)
    run: Callable[[], int] = partial(options.run, options)
    if command.module in STAGE_MODEL_COMMANDS:
        from cli import stage_models

        is_publish = command.name == "publish"
        run = partial(stage_models.run_publish if is_publish else stage_models.run, run, options)
    return partial(local_option.run, run) if command.calls_aws and options.local else run
