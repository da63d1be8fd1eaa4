"""A buildspec, as far as builds here run it: `env.variables` and the commands of each phase."""

import json
from dataclasses import dataclass
from typing import Any

import yaml

PHASES = ("install", "pre_build", "build", "post_build")


@dataclass(frozen=True)
class Buildspec:
    """Commands by phase, and variables that the project's own override."""

    variables: dict[str, str]
    commands: dict[str, list[str]]

    @classmethod
    def parse(cls, text: str) -> "Buildspec":
        """Read YAML or JSON. Raises `ValueError` with what CodeBuild would refuse."""
        content = _read(text)
        if not isinstance(content, dict) or str(content.get("version")) not in ("0.1", "0.2"):
            raise _refused("write version: 0.2")
        phases = _map(content.get("phases"), "phases")
        unknown = sorted(phases.keys() - set(PHASES))
        if unknown:
            raise _refused(f"unknown phases {unknown}; known: {list(PHASES)}")
        env = _map(content.get("env"), "env")
        return cls(
            variables=_variables(env.get("variables")),
            commands={phase: _commands(phase, phases.get(phase)) for phase in PHASES},
        )


def _read(text: str) -> Any:
    """JSON is tried first: YAML reads some of it differently, and tabs in it not at all."""
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise _refused(f"{error}") from None


def _map(content: Any, where: str) -> dict[str, Any]:
    """Return what stands at `where`, which may be left empty."""
    if content is None:
        return {}
    if not isinstance(content, dict):
        raise _refused(f"{where} is {content!r}: write a map")
    for key in content:
        if not isinstance(key, str):
            raise _refused(f"{where} has the key {key!r}: write it in quotes")
    return content


def _variables(content: Any) -> dict[str, str]:
    variables = _map(content, "env.variables")
    for name, value in variables.items():
        if not isinstance(value, str | int | float):
            raise _refused(f"env.variables.{name} is {value!r}: write text")
    return {name: _text(value) for name, value in variables.items()}


def _text(value: str | float) -> str:
    """Return a value as it was written, `true` too."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _commands(phase: str, content: Any) -> list[str]:
    commands = _map(content, f"phases.{phase}").get("commands", [])
    where = f"phases.{phase}.commands"
    if not isinstance(commands, list):
        raise _refused(f"{where} is {commands!r}: write a list of commands")
    for command in commands:
        if not isinstance(command, str):
            raise _refused(f"{where} has {command!r}, which is no text: write it in quotes")
    return commands


def _refused(reason: str) -> ValueError:
    """Return an error in CodeBuild's words."""
    return ValueError(f"YAML_FILE_ERROR: {reason}")
