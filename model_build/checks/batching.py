"""Rules for batch sizes, priorities, response caches, instance groups and warm-up samples."""

import os
from collections.abc import Iterator

from model_build.findings import Problems, warning
from model_build.model_config import ModelConfig, dims_match, type_name
from model_build.repository import Model


def batch_sizes(model: Model) -> Problems:
    """`max_batch_size` is not negative; preferred batch sizes are from 1 to `max_batch_size`.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    limit = model.config.max_batch_size
    if limit < 0:
        yield (
            model.field_location("max_batch_size"),
            f"max_batch_size is {limit}: write the largest batch, or 0 for a model that does not "
            "batch",
        )
    if not model.config.HasField("dynamic_batching") or not limit:
        return
    for index, size in enumerate(model.config.dynamic_batching.preferred_batch_size):
        if not 1 <= size <= limit:
            yield (
                model.field_location("dynamic_batching", "preferred_batch_size", index),
                f"preferred batch size {size}: write a size from 1 to {limit}, which is "
                "max_batch_size",
            )


def priority_levels(model: Model) -> Problems:
    """Default and queue policies name a priority level from 1 to `priority_levels`.

    Several levels do not preserve the order of requests. Source: core src/model_config_utils.cc,
    ValidateModelConfig.
    """
    batching = model.config.dynamic_batching
    levels = batching.priority_levels
    if not levels:
        return
    fix = f"write a level from 1 to {levels}, which is priority_levels"
    if not 1 <= batching.default_priority_level <= levels:
        yield (
            model.field_location("dynamic_batching", "default_priority_level"),
            f"default_priority_level is {batching.default_priority_level}: {fix}",
        )
    for level in sorted(batching.priority_queue_policy):
        if not 1 <= level <= levels:
            yield (
                model.field_location("dynamic_batching", "priority_queue_policy"),
                f"a queue policy has level {level}: {fix}",
            )
    if batching.preserve_ordering and levels > 1:
        yield (
            model.field_location("dynamic_batching", "preserve_ordering"),
            f"preserve_ordering allows one priority level, not {levels}: remove one of them",
        )


@warning
def unused_batching(model: Model) -> Problems:
    """`dynamic_batching` has no effect with `max_batch_size: 0`."""
    if model.config.HasField("dynamic_batching") and not model.config.max_batch_size:
        yield (
            model.field_location("dynamic_batching"),
            "dynamic_batching has no effect with max_batch_size 0: remove dynamic_batching, or set "
            "max_batch_size",
        )


def response_caches(model: Model) -> Problems:
    """A decoupled model, or one with sequence_batching, has no response cache.

    Source: triton-inference-server/core, src/model_config_utils.cc, ValidateModelConfig.
    """
    config = model.config
    is_decoupled = config.model_transaction_policy.decoupled
    if config.response_cache.enable and (is_decoupled or config.HasField("sequence_batching")):
        yield (
            model.field_location("response_cache"),
            "Triton refuses a response cache with "
            f"{'decoupled: true' if is_decoupled else 'sequence_batching'}: remove one of the two",
        )


def ensemble_instances(model: Model) -> Problems:
    """Ensembles have no instances, which other settings would be for.

    Source: core src/model_config_utils.cc, ValidateInstanceGroup and ValidateModelConfig.
    """
    for field in ("instance_group", "model_warmup", "optimization"):
        if model.is_ensemble and any(name.name == field for name, _ in model.config.ListFields()):
            yield (
                model.field_location(field),
                f"an ensemble has no instances: remove {field}",
            )


@warning
def pinned_gpus(model: Model) -> Problems:
    """Instance groups select no GPUs by number, which depends on the endpoint's instance type."""
    for index, group in enumerate(model.config.instance_group):
        if group.gpus:
            reason = f"the instance group pins gpus {list(group.gpus)}: remove gpus"
            yield model.field_location("instance_group", index, "gpus"), reason


def model_warmups(model: Model) -> Problems:
    """A warm-up sample has data for the inputs of its model.

    Triton runs the samples when it loads the model.
    """
    inputs = {tensor.name: tensor.optional for tensor in model.config.input}
    for index, sample in enumerate(model.config.model_warmup):
        location = model.field_location("model_warmup", index)
        for name in sorted(sample.inputs.keys() - inputs.keys()):
            yield (
                location,
                f'"{name}" is not an input of the model: its inputs are {", ".join(inputs)}',
            )
        for name in sorted(inputs.keys() - sample.inputs.keys()):
            if not inputs[name]:
                yield location, f'the sample has no data for input "{name}": add it'
        limit = max(model.config.max_batch_size, 1)
        if sample.batch_size > limit:  # Triton 2.51 crashes
            yield location, f"the sample has batch_size {sample.batch_size}: write {limit} or less"
        for tensor in model.config.input:
            if tensor.name in sample.inputs:
                yield from (
                    (location, f'the sample of "{tensor.name}" {problem}')
                    for problem in _sample_problems(model, tensor, sample.inputs[tensor.name])
                )


def _sample_problems(model: Model, tensor: ModelConfig, sample: ModelConfig) -> Iterator[str]:
    """Yield the problems of the data of one input."""
    if sample.data_type != tensor.data_type:
        yield f"is {type_name(sample.data_type)}: write {type_name(tensor.data_type)}"
    if not dims_match(tensor.dims, sample.dims):
        yield f"has dims {list(sample.dims)}: write dims that match {list(tensor.dims)}"
    elif -1 in sample.dims:
        yield f"has dims {list(sample.dims)}: write a size in place of -1"
    if not sample.WhichOneof("input_data_type"):
        yield "has no data: add zero_data: true, random_data: true or input_data_file"
    file = model.directory / "warmup" / sample.input_data_file
    if sample.input_data_file and not os.path.isfile(file):
        yield f"is in warmup/{sample.input_data_file}, which is missing: add the file"
