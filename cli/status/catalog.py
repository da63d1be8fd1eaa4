"""The models that the catalog names."""

from collections.abc import Iterator
from typing import Any

from cli.status.report import Model
from release import parameters
from release.delivery.catalog_differences import parse_entry


def models(ssm: Any, stage: str | None) -> list[Model]:
    """Return the models of a stage, or all, by endpoint and name. Raises `ClientError`."""
    return sorted(_models(ssm, stage), key=lambda it: (it.endpoint, it.name))


def _models(ssm: Any, stage: str | None) -> Iterator[Model]:
    """Yield the models of valid entries; broken ones are differences from what was deployed."""
    root = f"{parameters.ROOT}{stage}/" if stage else parameters.ROOT
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=root, Recursive=True)
    for parameter in (parameter for page in pages for parameter in page["Parameters"]):
        _, *place = parameter["Name"].split("/")
        is_entry = len(place) == 4  # triton, stage, endpoint, model
        if is_entry and (entry := parse_entry(parameter["Value"])):
            yield Model(
                endpoint=entry["endpoint"],
                name=entry["model"],
                version=entry["version"],
                archive=entry["target_model"],
                loaded=None,
            )
