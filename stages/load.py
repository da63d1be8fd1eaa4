"""Find and read the file of a stage."""

import difflib
import re
from contextlib import AbstractContextManager
from pathlib import Path

from platform_facts.rules import checked_yaml
from stages.schema.stage import StageConfig
from stages.shared_names import name_problems

FOLDER = Path(__file__).parent
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
"""Allowed stage names: stack names start with them (API reference, CreateStack)."""


class UnknownStage(LookupError):
    """A stage has no readable file, or an invalid name."""


def stage_names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all stages, sorted."""
    return sorted(path.stem for path in folder.glob("*.yaml"))


def load_stage(name: str, folder: Path = FOLDER) -> StageConfig:
    """Return a stage by its name.

    Raise `UnknownStage` with the existing names, or `checked_yaml.InvalidFile` with every error
    of the file.
    """
    names = stage_names(folder)
    if name not in names:
        close = difflib.get_close_matches(name, names, n=1)
        guess = f"did you mean {close[0]}? " if close else ""
        raise UnknownStage(
            f"no stage {name!r}: {guess}stages are {', '.join(names)} (one YAML file each in "
            f"{folder.name}/); write for example: cdk synth -c stage={names[0]}"
        )
    if not NAME.fullmatch(name):
        raise UnknownStage(
            f"{folder.name}/{name}.yaml: the names of stacks start with a stage's name: rename "
            "the file, with a letter first and then letters, digits and hyphens"
        )
    try:
        stage = checked_yaml.load(_path(name, folder), StageConfig)
    except OSError as error:  # for example a folder or a broken link
        raise UnknownStage(
            f"{folder.name}/{name}.yaml cannot be read: {error.strerror}: write a file there, or "
            "delete it"
        ) from None
    with at_lines_of_stage(name, folder):
        if problems := list(name_problems(name, stage, folder)):
            raise checked_yaml.LocatedErrors(problems)
    return stage


def at_lines_of_stage(name: str, folder: Path = FOLDER) -> AbstractContextManager[None]:
    """Convert `checked_yaml.LocatedErrors` to `InvalidFile`, with lines of the stage's file."""
    return checked_yaml.at_lines_of(_path(name, folder))


def _path(name: str, folder: Path) -> Path:
    return folder / f"{name}.yaml"
