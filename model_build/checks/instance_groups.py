"""Instances stand where a SageMaker instance can have them."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.model_config import KIND
from model_build.repository import Repository


def instance_groups(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Counts are not negative, no GPU is pinned, ensembles have no instances.

    Which GPUs there are is the endpoint's to say: instances of multi-model endpoints have one, and
    an archive must serve on every instance type of its GPU. Source: core
    src/model_config_utils.cc, ValidateInstanceGroup.
    """
    for model in repository.models.values():
        groups = model.config.instance_group
        if model.is_ensemble and groups:
            yield model.at("instance_group"), "ensembles run nothing themselves: remove it"
        for index, group in enumerate(groups):
            path = ("instance_group", index)
            if group.count < 0:
                yield model.at(*path, "count"), f"count is {group.count}: write 1 or more"
            if group.gpus:
                reason = f"pins gpus {list(group.gpus)}: remove gpus"
                yield model.at(*path, "gpus"), reason
            if group.secondary_devices:
                yield (
                    model.at(*path, "secondary_devices"),
                    "SageMaker's GPUs have no NVDLA cores: remove secondary_devices",
                )
            if model.backend == "tensorrt" and group.kind == KIND.KIND_CPU:
                reason = "TensorRT runs on GPUs only: write KIND_GPU (CPU targets get ONNX)"
                yield model.at(*path, "kind"), reason
            if model.backend == "openvino" and group.kind in (KIND.KIND_GPU, KIND.KIND_MODEL):
                # openvino_backend src/openvino.cc: "supports only Kind CPU and AUTO"
                yield model.at(*path, "kind"), "OpenVINO runs on CPUs only: write KIND_CPU"
            if any(not profile.isdecimal() for profile in group.profile):
                yield (
                    model.at(*path, "profile"),
                    "names an optimization profile by its index: write a number in quotes",
                )
            if group.profile and model.backend != "tensorrt":
                yield (
                    model.at(*path, "profile"),
                    "optimization profiles are TensorRT's: remove profile",
                )
