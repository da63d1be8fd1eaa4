"""Write a stage's file: a copy of another stage, optionally with other endpoints."""

import argparse
import os
import re
from pathlib import Path
from tempfile import TemporaryDirectory

from cli.errors import CommandError
from cli.local_option import ACCOUNT
from cli.new_model import MODELS
from model_build.source import find_model
from platform_facts.rules import checked_yaml
from stages import StageConfig, load_stage, stage_names
from stages.load import FOLDER, NAME
from stages.shared_names import name_problems

SCHEMA_COMMENT = "# yaml-language-server: $schema=stage.schema.json\n"
ENDPOINTS_SECTION = re.compile(r"^endpoints:.*\n(?:(?:[ #].*)?\n)*", re.M)
"""The key `endpoints` with all its lines."""


def run(options: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    path = write(options.name, options.base, options.endpoint, stages=FOLDER, models=MODELS)
    shown_path = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    is_local = load_stage(options.name, FOLDER).account == ACCOUNT
    print(f"{shown_path}\nnext: tritonsm deploy {options.name}{' --local' if is_local else ''}")
    return 0


def write(name: str, base: str, endpoints: list[str], *, stages: Path, models: Path) -> Path:
    """Write the file of a new stage, and return it.

    The file is a copy of `base` with its comments. `endpoints`, each NAME=MODEL,MODEL, replace
    those of `base`, on the instance type of its first endpoint. Raise `CommandError`,
    `ModelNotFound`, `UnknownStage` for the base, and `checked_yaml.InvalidFile` before the file is
    written.
    """
    if not NAME.fullmatch(name) or name != name.lower():
        raise CommandError(
            f"{name!r} is not a valid stage name: write a small letter first, then small "
            "letters, digits and hyphens"
        )
    path = stages / f"{name}.yaml"
    if os.path.lexists(path):  # also a dangling link, whose target would be written
        raise CommandError(
            f"{path.name} already exists; stages are {', '.join(stage_names(stages))}"
        )
    base_stage = load_stage(base, stages)
    text = (stages / f"{base}.yaml").read_text(encoding="utf-8")
    if endpoints:
        first = next(iter(base_stage.endpoints.values()))
        instance_type, *_ = first.variant_instance_types(next(iter(first.variants)))
        lines = "endpoints:\n"
        lines += "".join(_endpoint_yaml(option, instance_type, models) for option in endpoints)
        text = ENDPOINTS_SECTION.sub(lambda _: lines, text + "\n").rstrip() + "\n"
    if not text.startswith(SCHEMA_COMMENT):
        text = SCHEMA_COMMENT + text
    _check(text, name, stages)
    path.write_text(text, encoding="utf-8")
    return path


def _endpoint_yaml(option: str, instance_type: str, models: Path) -> str:
    name, _, text = option.partition("=")
    names = [model for model in text.split(",") if model]
    if not name or not names:
        raise CommandError(f"--endpoint {option!r}: write NAME=MODEL, or NAME=MODEL,MODEL")
    for model in names:
        find_model(models, model)  # raises if there is no such model
    return f"  {name}:\n    models: [{', '.join(names)}]\n    instance_type: {instance_type}\n"


def _check(text: str, name: str, stages: Path) -> None:
    with TemporaryDirectory() as scratch:
        path = Path(scratch, f"{name}.yaml")
        path.write_text(text, encoding="utf-8")
        try:
            stage = checked_yaml.load(path, StageConfig)
        except checked_yaml.InvalidFile as error:
            raise CommandError(
                "; ".join(f"{problem.key}: {problem.message}" for problem in error.problems)
            ) from None
    if messages := [message for _, message in name_problems(name, stage, stages)]:
        raise CommandError("; ".join(messages))
