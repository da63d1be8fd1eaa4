"""Rules for batch sizes, instance groups and warm-up samples."""

from model_build.findings import Problems
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
    if not model.config.HasField("dynamic_batching"):
        return
    if not limit:
        yield (
            model.field_location("dynamic_batching"),
            "dynamic_batching has no effect with max_batch_size 0: remove dynamic_batching, or set "
            "max_batch_size",
        )
        return
    for index, size in enumerate(model.config.dynamic_batching.preferred_batch_size):
        if not 1 <= size <= limit:
            yield (
                model.field_location("dynamic_batching", "preferred_batch_size", index),
                f"preferred batch size {size}: write a size from 1 to {limit}, which is "
                "max_batch_size",
            )


def instance_groups(model: Model) -> Problems:
    """Instance groups select no GPUs by number, and ensembles have no instance groups.

    The number of GPUs depends on the endpoint's instance type. Source: core
    src/model_config_utils.cc, ValidateInstanceGroup.
    """
    groups = model.config.instance_group
    if model.is_ensemble and groups:
        yield (
            model.field_location("instance_group"),
            "an ensemble has no instances: remove instance_group",
        )
    for index, group in enumerate(groups):
        if group.gpus:
            reason = f"the instance group pins gpus {list(group.gpus)}: remove gpus"
            yield model.field_location("instance_group", index, "gpus"), reason


def model_warmups(model: Model) -> Problems:
    """A warm-up sample has data for the inputs of its model.

    Otherwise Triton loads the model without the warm-up, and the first requests are slow.
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
