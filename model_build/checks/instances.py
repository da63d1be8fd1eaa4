"""Instances, warm-ups and caches are ones that SageMaker and Triton have."""

import os

from model_build.findings import Problems
from model_build.repository import Model


def instance_groups(model: Model) -> Problems:
    """Counts are not negative, no GPU is pinned, ensembles have no instances.

    Which GPUs there are is the endpoint's to say: instances of multi-model endpoints have one, and
    an archive must serve on every instance type of its GPU. Source: core
    src/model_config_utils.cc, ValidateInstanceGroup.
    """
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


def model_warmups(model: Model) -> Problems:
    """A warm-up sample has every input, and no batch beyond `max_batch_size`.

    Without its warm-up a model would be loaded all the same, and its first callers would wait.
    """
    for index in range(len(model.config.model_warmup)):
        yield from _findings(model, index)


def _findings(model: Model, index: int) -> Problems:
    sample = model.config.model_warmup[index]
    place = model.at("model_warmup", index)
    inputs = {tensor.name: tensor for tensor in model.config.input}
    if sample.batch_size > max(model.config.max_batch_size, 1):
        yield place, f"batch_size {sample.batch_size} is above the model's max_batch_size"
    for name in sorted(sample.inputs.keys() - inputs.keys()):
        yield place, f'"{name}" is not an input of the model: write one of {", ".join(inputs)}'
    for name in sorted(inputs.keys() - sample.inputs.keys()):
        if not inputs[name].optional:
            yield place, f'gives nothing for input "{name}"'
    for name, given in sorted(sample.inputs.items()):
        if -1 in given.dims or not given.dims:
            yield place, f'input "{name}" needs dims of numbers: a sample has one shape'
        if name in inputs and given.data_type != inputs[name].data_type:
            yield place, f'input "{name}" is not of the data_type that the model takes'
        file = given.input_data_file
        if file and not os.path.isfile(model.directory / "warmup" / file):
            yield place, f"input_data_file {file} is not in the folder warmup/"


def response_cache(model: Model) -> Problems:
    """No cache for stateful and decoupled models: one request may have other answers, or several.

    Source: core src/model_config_utils.cc, ValidateModelConfig; triton-inference-server/core#91.
    """
    if not model.config.response_cache.enable:
        return
    policies = {
        "sequence_batching": model.config.HasField("sequence_batching"),
        "decoupled: true": model.config.model_transaction_policy.decoupled,
    }
    for policy in (name for name, applies in policies.items() if applies):
        yield (
            model.at("response_cache"),
            f"cannot cache the answers of a model with {policy}: remove one of them",
        )
