"""OpenVINO models, which people bring: model.xml, with the weights beside it."""

from model_build.findings import Problems
from model_build.format import Format
from model_build.model_config import KIND
from model_build.repository import Model


def openvino_settings(model: Model) -> Problems:
    """OpenVINO runs on CPUs only (openvino_backend src/openvino.cc: "supports only Kind CPU")."""
    for index, group in enumerate(model.config.instance_group):
        if group.kind in (KIND.KIND_GPU, KIND.KIND_MODEL):
            place = model.field_place("instance_group", index, "kind")
            yield place, "OpenVINO runs on CPUs only: write KIND_CPU"


FORMAT = Format(
    backend="openvino",
    file="model.xml",
    config_rules=(openvino_settings,),
)
