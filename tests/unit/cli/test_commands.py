"""Tests of the table of commands."""

import importlib

import pytest

from cli.commands import COMMANDS, Command
from cli.help_format import Parser
from model_build.commands import COMMANDS as MODEL_COMMANDS


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_module_of_a_command_adds_its_parser(command: Command) -> None:
    parser = Parser(prog="tritonsm")
    commands = parser.add_subparsers(parser_class=Parser)
    importlib.import_module(command.module).add_to(commands)
    command_parser = commands.choices[command.name]
    assert command_parser.prog == f"tritonsm {command.name}"
    assert command_parser.description
    assert "python -m" not in command_parser.format_help()


def test_table_has_every_command_of_model_build() -> None:
    assert {module.__name__ for module in MODEL_COMMANDS} <= {
        command.module for command in COMMANDS.values()
    }
