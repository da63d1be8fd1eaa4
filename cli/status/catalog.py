"""The models that the catalog names."""

import json
from collections.abc import Iterator
from typing import Any

from cli.status.report import Model
from release import parameters


def models(ssm: Any, stage: str | None) -> list[Model]:
    """Return the models of a stage, or all, by endpoint and name. Raises `ClientError`."""
    return sorted(_models(ssm, stage), key=lambda it: (it.endpoint, it.name))


def _models(ssm: Any, stage: str | None) -> Iterator[Model]:
    root = f"{parameters.ROOT}{stage}/" if stage else parameters.ROOT
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=root, Recursive=True)
    for it in (found for page in pages for found in page["Parameters"]):
        _, *place = it["Name"].split("/")
        if len(place) == 4:  # triton, stage, endpoint, model
            entry = json.loads(it["Value"])
            yield Model(
                endpoint=entry["endpoint"],
                name=entry["model"],
                version=entry["version"],
                archive=entry["target_model"],
                loaded=None,
            )
