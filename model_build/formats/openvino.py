"""OpenVINO models, which people bring: model.xml, with the weights beside it."""

import os
from pathlib import Path

from model_build.findings import Problems
from model_build.format import Format
from model_build.model_config import KIND
from model_build.repository import Model


def openvino_settings(model: Model) -> Problems:
    """OpenVINO runs on CPUs only (openvino_backend src/openvino.cc: "supports only Kind CPU")."""
    for index, group in enumerate(model.config.instance_group):
        if group.kind in (KIND.KIND_GPU, KIND.KIND_MODEL):
            place = model.at("instance_group", index, "kind")
            yield place, "OpenVINO runs on CPUs only: write KIND_CPU"


def openvino_weights(model: Model, path: Path) -> Problems:
    """The weights are in the .bin beside the .xml (docs.openvino.ai, Core.read_model)."""
    weights = path.with_suffix(".bin")
    if path.suffix == ".xml" and not os.path.exists(weights):
        yield (
            model.file(model.inner(weights)),
            f"is missing: OpenVINO reads the weights of {path.name} from it",
        )


FORMAT = Format(
    backend="openvino",
    file="model.xml",
    config_rules=(openvino_settings,),
    file_rules=(openvino_weights,),
)
