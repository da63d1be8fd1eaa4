"""A buildspec, as far as builds here run it: variables, commands of each phase, and artifacts."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any

import yaml

PHASES = ("install", "pre_build", "build", "post_build")
SHELLS = {"/bin/sh": "sh", "bash": "bash"}


@dataclass(frozen=True)
class Artifacts:
    """Which files are the build's output: patterns below a folder of the primary source."""

    files: tuple[str, ...]
    base_directory: str


@dataclass(frozen=True)
class Buildspec:
    """Commands by phase, the shell that runs them, and variables that the project's override."""

    variables: dict[str, str]
    commands: dict[str, list[str]]
    shell: str
    artifacts: Artifacts | None

    @classmethod
    def parse(cls, text: str) -> "Buildspec":
        """Read YAML or JSON. Raises `ValueError` with what CodeBuild, or this one, refuses."""
        content = _read(text)
        if not isinstance(content, dict) or str(content.get("version")) != "0.2":
            raise _refused("write version: 0.2")  # 0.1 runs each command in a shell of its own
        _only(content, "the buildspec", ("version", "env", "phases", "artifacts"))
        phases = _map(content.get("phases"), "phases")
        unknown = sorted(phases.keys() - set(PHASES))
        if unknown:
            raise _refused(f"unknown phases {unknown}; known: {list(PHASES)}")
        if not phases:
            raise _refused("there are no phases")  # guide, build-spec-ref: a required sequence
        env = _map(content.get("env"), "env")
        _only(env, "env", ("shell", "variables"))
        return cls(
            variables=_variables(env.get("variables")),
            commands={
                phase: _commands(phase, phases[phase]) if phase in phases else []
                for phase in PHASES
            },
            shell=_shell(env.get("shell", "/bin/sh")),
            artifacts=_artifacts(content.get("artifacts")),
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


def _only(content: dict[str, Any], where: str, known: Iterable[str]) -> None:
    for key in content.keys() - set(known):
        raise _refused(f"{where} has {key}, which the local SageMaker does not know: leave it out")


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
    described = _map(content, f"phases.{phase}")
    _only(described, f"phases.{phase}", ["commands"])
    return _texts(described.get("commands"), f"phases.{phase}.commands", "commands")


def _shell(content: Any) -> str:
    """Return what runs commands: sh, unless bash is asked for (guide, build-spec-ref, env/shell).

    In the Debian images of our builds sh is dash, which knows nothing of bash's own.
    """
    if content not in SHELLS:
        raise _refused(f"env.shell is {content!r}: write one of {list(SHELLS)}")
    return SHELLS[content]


def _artifacts(content: Any) -> Artifacts | None:
    """Return what guide, build-spec-ref, artifacts describes; `files` is required there."""
    if content is None:
        return None
    described = _map(content, "artifacts")
    _only(described, "artifacts", ("files", "base-directory", "discard-paths"))
    if described.get("discard-paths", "no") not in ("no", False):
        raise _refused(
            "the local SageMaker keeps the folders of artifacts: leave out discard-paths"
        )
    files = _texts(described.get("files"), "artifacts.files", "paths and patterns")
    if not files:
        raise _refused("artifacts.files is empty: name files")
    base = described.get("base-directory", ".")
    if not isinstance(base, str) or "*" in base:
        raise _refused(f"artifacts.base-directory is {base!r}: name one folder")
    for path in (base, *files):
        if not path or path.startswith("/") or ".." in PurePosixPath(path).parts:
            raise _refused(f"artifacts has {path!r}: write a path below the primary source")
    return Artifacts(tuple(files), base)


def _texts(content: Any, where: str, what: str) -> list[str]:
    if not isinstance(content, list):
        raise _refused(f"{where} is {content!r}: write a list of {what}")
    for text in content:
        if not isinstance(text, str):
            raise _refused(f"{where} has {text!r}, which is no text: write it in quotes")
    return content


def _refused(reason: str) -> ValueError:
    """Return what CodeBuild reports as a YAML_FILE_ERROR, whatever is wrong."""
    return ValueError(reason)
