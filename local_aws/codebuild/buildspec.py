"""A buildspec, as far as builds here run it: `env.variables` and the commands of each phase."""

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
        try:
            content: Any = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(f"YAML_FILE_ERROR: {error}") from None
        if not isinstance(content, dict) or str(content.get("version")) not in ("0.1", "0.2"):
            raise ValueError("YAML_FILE_ERROR: write version: 0.2")
        phases = content.get("phases") or {}
        unknown = sorted(phases.keys() - set(PHASES))
        if unknown:
            raise ValueError(f"YAML_FILE_ERROR: unknown phases {unknown}; known: {list(PHASES)}")
        variables = (content.get("env") or {}).get("variables") or {}
        return cls(
            variables={name: str(value) for name, value in variables.items()},
            commands={
                name: [str(command) for command in (phases.get(name) or {}).get("commands", [])]
                for name in PHASES
            },
        )
