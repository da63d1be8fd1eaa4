"""Write a stage's file: a copy of another stage, optionally with other endpoints."""

import argparse
import os
import re
from collections.abc import Iterable
from pathlib import Path
from tempfile import TemporaryDirectory

import checked_yaml
from cli.errors import CommandError
from cli.new_model import MODELS
from local_sagemaker import ACCOUNT
from model_build.source import ModelSource, all_models, find
from stages import StageConfig, load_stage, stage_names
from stages.load import FOLDER, NAME
from stages.shared_names import wrong_names

SCHEMA = "# yaml-language-server: $schema=stage.schema.json\n"
ENDPOINTS = re.compile(r"^endpoints:.*\n(?:(?:[ #].*)?\n)*", re.M)
"""The key with all that stands below it."""


def run(options: argparse.Namespace) -> int:
    """Write the file; return the exit code."""
    endpoints = options.endpoint or deal(all_models(MODELS), options.split)
    path = write(options.name, options.base, endpoints, stages=FOLDER, models=MODELS)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    is_local = load_stage(options.name, FOLDER).account == ACCOUNT
    print(f"{shown}\nnext: tritonsm deploy {options.name}{' --local' if is_local else ''}")
    return 0


def deal(models: Iterable[ModelSource], count: int) -> list[str]:
    """Return `count` endpoints as `write` takes them, with models in turn."""
    names = [model.name for model in models]
    return [f"e{n + 1:03}={','.join(names[n::count])}" for n in range(min(count, len(names)))]


def write(name: str, base: str, endpoints: list[str], *, stages: Path, models: Path) -> Path:
    """Write the file of a new stage, and return it.

    It is `base`'s text, comments too, and so what stands there of endpoints, unless some are
    given: `NAME=MODEL,MODEL`, each on the instances of `base`'s first. Raises `CommandError`,
    `ModelNotFound`, `UnknownStage` for the base, and `checked_yaml.InvalidFile`; nothing is written
    then.
    """
    if not NAME.fullmatch(name):
        raise CommandError(
            f"no stage can be called {name!r}: write a letter first and then letters, digits and "
            "hyphens"
        )
    path = stages / f"{name}.yaml"
    if os.path.lexists(path):  # also a link to nothing, which would be written through
        raise CommandError(f"{path.name} already exists; stages are {_listed(stages)}")
    copied = load_stage(base, stages)
    text = (stages / f"{base}.yaml").read_text(encoding="utf-8")
    if endpoints:
        first = next(iter(copied.endpoints.values()))
        instance_type, *_ = first.variant_instance_types(next(iter(first.variants)))
        expected = [_endpoint(endpoint, instance_type, models) for endpoint in endpoints]
        text = (
            ENDPOINTS.sub(lambda _: "endpoints:\n" + "".join(expected), text + "\n").rstrip() + "\n"
        )
    if not text.startswith(SCHEMA):
        text = SCHEMA + text
    _check(text, name, stages)
    path.write_text(text, encoding="utf-8")
    return path


def _endpoint(written: str, instance_type: str, models: Path) -> str:
    name, _, listed = written.partition("=")
    expected = [part for part in listed.split(",") if part]
    if not name or not expected:
        raise CommandError(f"--endpoint {written!r}: write NAME=MODEL, or NAME=MODEL,MODEL")
    for model in expected:
        find(models, model)
    return f"  {name}:\n    models: [{', '.join(expected)}]\n    instance_type: {instance_type}\n"


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
    if result := [message for _, message in wrong_names(name, stage, stages)]:
        raise CommandError("; ".join(result))


def _listed(stages: Path) -> str:
    return ", ".join(stage_names(stages))
