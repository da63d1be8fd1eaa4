"""Find and read the file of a stage."""

import re
from contextlib import AbstractContextManager
from pathlib import Path

from platform_facts.rules import checked_yaml, stage_files
from platform_facts.rules.stage_files import UnknownStage
from stages.schema.stage import StageConfig
from stages.shared_names import name_problems

FOLDER = Path(__file__).parent
NAME = re.compile(r"[A-Za-z][A-Za-z0-9-]*")
"""Allowed stage names: stack names start with them (API reference, CreateStack)."""


def stage_names(folder: Path = FOLDER) -> list[str]:
    """Return the names of all stages, sorted."""
    return stage_files.stage_names(folder)


def load_stage(name: str, folder: Path = FOLDER) -> StageConfig:
    """Return a stage by its name. Raise `UnknownStage`, or `checked_yaml.InvalidFile`."""
    stage = stage_files.read_stage(name, folder, StageConfig)
    if not NAME.fullmatch(name):
        raise UnknownStage(
            f"{folder.name}/{name}.yaml: the names of stacks start with a stage's name: rename "
            "the file, with a letter first and then letters, digits and hyphens"
        )
    with at_lines_of_stage(name, folder):
        if problems := list(name_problems(name, stage, folder)):
            raise checked_yaml.LocatedErrors(problems)
    return stage


def at_lines_of_stage(name: str, folder: Path = FOLDER) -> AbstractContextManager[None]:
    """Convert `checked_yaml.LocatedErrors` to `InvalidFile`, with lines of the stage's file."""
    return checked_yaml.at_lines_of(folder / f"{name}.yaml")
