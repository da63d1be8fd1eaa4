"""Rules for batch sizes, instance groups and warm-up samples."""

from model_build.findings import Problems, warning
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


@warning
def unused_batching(model: Model) -> Problems:
    """`dynamic_batching` has no effect with `max_batch_size: 0`."""
    if model.config.HasField("dynamic_batching") and not model.config.max_batch_size:
        yield (
            model.field_location("dynamic_batching"),
            "dynamic_batching has no effect with max_batch_size 0: remove dynamic_batching, or set "
            "max_batch_size",
        )


def ensemble_instances(model: Model) -> Problems:
    """Ensembles have no instance groups (core src/model_config_utils.cc, ValidateInstanceGroup)."""
    if model.is_ensemble and model.config.instance_group:
        yield (
            model.field_location("instance_group"),
            "an ensemble has no instances: remove instance_group",
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
