"""From arguments to an exit code: one command's module is imported, and run."""

import difflib
import importlib
import sys

from cli.commands import COMMANDS, GROUPS, Command

HELP = ("-h", "--help", "help")


def run(arguments: list[str]) -> int:
    """Run the command that the arguments begin with."""
    name = arguments[0] if arguments else ""
    if not name or name in HELP:
        from cli import look

        look.overview(GROUPS)
        return 0
    if name not in COMMANDS:
        close = difflib.get_close_matches(name, COMMANDS, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        print(f"error: no command {name!r}: {guess}tritonsm --help has all", file=sys.stderr)
        return 2
    return _run(COMMANDS[name], arguments)


def _run(command: Command, arguments: list[str]) -> int:
    from cli import local, look
    from local_aws.errors import LocalAwsError

    parser = look.Parser(prog="tritonsm")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", parser_class=look.Parser)
    importlib.import_module(command.module).add_to(commands)
    if command.speaks_to_aws:
        local.add_option(commands.choices[command.name])
    options = parser.parse_args(arguments)
    try:
        if command.speaks_to_aws and options.local:
            local.enter()
        code: int = options.run(options)
    except LocalAwsError as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    return code
