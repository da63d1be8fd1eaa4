"""Parsing of buildspecs; each phase must have one command."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml
from botocore.model import ShapeResolver
from botocore.validate import ParamValidator

PHASES = ("install", "build")


def _structure(members: Mapping[str, str], required: Iterable[str] = ()) -> dict[str, Any]:
    shapes = {name: {"shape": shape} for name, shape in members.items()}
    return {"type": "structure", "members": shapes, "required": list(required)}


_SHAPES: dict[str, Any] = {
    "Buildspec": _structure(
        {"artifacts": "Artifacts", "phases": "Phases", "version": "Text"},
        required=["phases", "version"],
    ),
    "Phases": _structure(dict.fromkeys(PHASES, "Phase")),
    "Phase": _structure({"commands": "Texts"}, required=["commands"]),
    "Artifacts": _structure({"base-directory": "Text", "files": "Texts"}, required=["files"]),
    "Texts": {"type": "list", "member": {"shape": "Text"}},
    "Text": {"type": "string"},
}
_BUILDSPEC: Any = ShapeResolver(_SHAPES).get_shape_by_name("Buildspec")
"""The supported keys (guide, build-spec-ref); every other key is rejected by name."""


@dataclass(frozen=True)
class Artifacts:
    """The output files of a build, as patterns below a folder of the primary source."""

    files: tuple[str, ...]
    base_directory: str


@dataclass(frozen=True)
class Buildspec:
    """The commands by phase, and the artifacts."""

    commands: dict[str, str]
    artifacts: Artifacts | None

    @classmethod
    def parse(cls, text: str) -> "Buildspec":
        """Parse YAML or JSON. Raise `ValueError` if it is invalid or not emulated."""
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise ValueError(str(error)) from None
        version = content.get("version") if isinstance(content, dict) else None
        if str(version) != "0.2":  # version 0.1 runs each command in a separate shell
            raise ValueError("only buildspec version 0.2 is supported: write version: 0.2")
        report = ParamValidator().validate({**content, "version": "0.2"}, _BUILDSPEC)
        if report.has_errors():
            raise ValueError(
                f"the local SageMaker does not support this buildspec: {report.generate_report()}"
            )
        commands = {name: phase["commands"] for name, phase in content["phases"].items()}
        if not commands:
            raise ValueError("the buildspec has no phases")  # required: guide, build-spec-ref
        for name, lines in commands.items():
            if len(lines) != 1:
                # Two commands would have to share their folder and variables: guide,
                # build-spec-ref.
                raise ValueError(f"phase {name} has {len(lines)} commands: join them into one")
        return cls(
            commands={name: command for name, (command,) in commands.items()},
            artifacts=_artifacts(content["artifacts"]) if "artifacts" in content else None,
        )


def _artifacts(content: dict[str, Any]) -> Artifacts:
    artifacts = Artifacts(tuple(content["files"]), content.get("base-directory", "."))
    for path in (artifacts.base_directory, *artifacts.files):
        if not path or path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise ValueError(f"artifacts: {path!r} is not a path below the primary source")
    return artifacts
