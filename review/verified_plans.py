"""Models and settings as the base's code reads them from the files of the change.

No template shows them all, so that only the plan, which the change wrote, would tell them.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model_build import (
    BuildError,
    CheckedModel,
    ModelNotFound,
    Models,
    RepositoryInvalid,
    check_model,
)
from plan.document import Plan, PlannedModel
from platform_facts.rules import checked_yaml
from review.files.readers import read_json, read_yaml
from review.values import format_value

SCHEMA = Path(__file__).parents[1] / "stages" / "stage.schema.json"
"""The schema of stage files, which has the defaults of absent keys."""

_ERRORS = (BuildError, ModelNotFound, RepositoryInvalid, checked_yaml.InvalidFile, OSError)

ReadModel = CheckedModel | str
"""A model, or why its files cannot be read."""


def read_models(plan: Plan, models: Path) -> dict[str, ReadModel]:
    """Return the models of a plan by name, read from a folder."""
    names = {name for endpoint in plan.endpoints.values() for name in endpoint.models}
    folders = Models(models)
    return {name: _read(folders, name) for name in sorted(names)}


def _read(models: Models, name: str) -> ReadModel:
    try:
        return check_model(models.find(name))
    except _ERRORS as error:
        return str(error).splitlines()[0]


def load_obstacle(model: PlannedModel, read: ReadModel | None) -> str:
    """Return why no Triton loads a model before it is published, empty if a build loads it."""
    if any(archive.engines for archive in model.archives.values()):
        return "builds have no GPU for TensorRT engines"
    return (read.load_obstacle or "") if isinstance(read, CheckedModel) else ""


def unverified_models(plan: Plan, models: dict[str, ReadModel]) -> Iterator[tuple[str, str]]:
    """Yield name and problem of each model whose files do not have the plan's facts."""
    planned = {
        name: model
        for endpoint in plan.endpoints.values()
        for name, model in endpoint.models.items()
    }
    for name, expected in models.items():
        model = planned[name]
        if isinstance(expected, str):
            yield name, f"its files cannot be read: {expected}"
        elif expected.digest != model.digest:
            yield name, f"its files have the digest {expected.digest}, the plan says {model.digest}"
        elif expected.signature.model_dump() != model.catalog.signature:
            yield name, "its files have other inputs, outputs or batches than the plan says"
        elif expected.is_stateful != model.is_stateful:
            yield name, "the plan does not say whether its sequences have state as its files do"


def unverified_settings(plan: Plan, file: Path | None) -> Iterator[str]:
    """Yield each key at the top of a stage's file that has another value in the plan."""
    if file is None:
        return
    schema = read_json(SCHEMA.read_bytes())
    written = read_yaml(file.read_bytes())
    planned = {**plan.settings, **plan.model_dump(mode="json", exclude={"endpoints"})}
    for key, keyword in schema["properties"].items():
        expected = written.get(key, keyword.get("default"))
        is_known = key != "endpoints" and (key in written or "default" in keyword)
        if is_known and not _contains(planned.get(key), expected):
            values = f"{format_value(expected)}, the plan has {format_value(planned.get(key))}"
            yield f"stages/{file.name}: {key} is {values}"


def _contains(planned: Any, written: Any) -> bool:
    """Return whether a value of a plan has all that a file says; a plan also has defaults."""
    if isinstance(planned, dict) and isinstance(written, dict):
        return all(_contains(planned.get(key), value) for key, value in written.items())
    return bool(planned == written)
