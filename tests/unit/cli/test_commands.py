"""The table of commands, held against what the rooms offer."""

import importlib

import pytest

from cli.commands import COMMANDS, Command
from cli.help_format import Parser
from model_build.commands import COMMANDS as BUILDERS


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_a_command_is_where_the_table_says_and_says_how_it_is_called(command: Command) -> None:
    parser = Parser(prog="tritonsm")
    commands = parser.add_subparsers(parser_class=Parser)
    importlib.import_module(command.module).add_to(commands)
    added = commands.choices[command.name]
    assert added.prog == f"tritonsm {command.name}"
    assert added.description
    assert "python -m" not in added.format_help()


def test_every_command_of_model_build_is_in_the_table() -> None:
    assert {builder.__name__ for builder in BUILDERS} <= {
        command.module for command in COMMANDS.values()
    }
