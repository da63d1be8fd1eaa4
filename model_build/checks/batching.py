"""Batches, queues and sequences can be made."""

from collections import Counter

from model_build.findings import Problems
from model_build.repository import Model


def batch_sizes(model: Model) -> Problems:
    """`max_batch_size` is not negative; preferred batch sizes lie between 1 and it.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    limit = model.config.max_batch_size
    if limit < 0:
        yield (
            model.at("max_batch_size"),
            f"is {limit}: write the largest batch, or 0 for a model that does not batch",
        )
    for scheduler in ("dynamic_batching", "sequence_batching"):
        if not model.config.HasField(scheduler):
            continue
        path: tuple[str, ...] = (scheduler,)
        settings = getattr(model.config, scheduler)
        if scheduler == "sequence_batching":
            path, settings = (scheduler, "oldest"), settings.oldest
        elif not limit:
            yield (
                model.at(scheduler),
                "makes no batches of a model with max_batch_size 0: remove it, or set "
                "max_batch_size",
            )
            continue
        for index, size in enumerate(settings.preferred_batch_size):
            if not 1 <= size <= limit:
                yield (
                    model.at(*path, "preferred_batch_size", index),
                    f"prefers batches of {size}: write 1 to max_batch_size ({limit})",
                )


_DELAY = 1


def queue_policies(model: Model) -> Problems:
    """The default priority, and every level with a policy, lies between 1 and `priority_levels`.

    Source: core src/model_config_utils.cc, ValidateModelConfig.
    """
    if not model.config.HasField("dynamic_batching"):
        return
    batching = model.config.dynamic_batching
    levels, default = batching.priority_levels, batching.default_priority_level
    if levels and not 1 <= default <= levels:
        yield (
            model.at("dynamic_batching", "default_priority_level"),
            f"default_priority_level is {default} of {levels} levels: write 1 to {levels}",
        )
    for level in batching.priority_queue_policy:
        if not 1 <= level <= levels:
            yield (
                model.at("dynamic_batching", "priority_queue_policy"),
                f"priority_queue_policy for level {level}: there are {levels} priority_levels",
            )
    if batching.preserve_ordering and levels > 1:
        yield (
            model.at("dynamic_batching", "preserve_ordering"),
            f"keeps no order across {levels} priority_levels: remove one of them",
        )
    policies = [batching.default_queue_policy, *batching.priority_queue_policy.values()]
    if batching.preserve_ordering and any(
        policy.timeout_action == _DELAY and policy.default_timeout_microseconds
        for policy in policies
    ):
        yield (
            model.at("dynamic_batching", "preserve_ordering"),
            "keeps no order where a timeout_action is DELAY: write REJECT, or remove one",
        )


_NAMES = {0: "START", 1: "READY", 2: "END", 3: "CORRID"}


def sequence_batching(model: Model) -> Problems:
    """Each control is given once, and a START, END or READY with one pair of values.

    Source: core src/model_config_utils.cc, GetBooleanSequenceControlProperties and
    GetTypedSequenceControlProperties.
    """
    if model.config.HasField("sequence_batching"):
        yield from _findings(model)


def _findings(model: Model) -> Problems:
    batching = model.config.sequence_batching
    kinds = Counter(tensor.name for tensor in batching.control_input)
    seen = Counter[int]()
    for index, tensor in enumerate(batching.control_input):
        place = model.at("sequence_batching", "control_input", index)
        if not tensor.name:
            yield place, "a control input has no name"
        elif kinds[tensor.name] > 1 or len(tensor.control) > 1:
            yield place, f'control input "{tensor.name}" has several kinds: give it one'
        for control in tensor.control:
            name = _NAMES.get(control.kind, str(control.kind))
            seen[control.kind] += 1
            if seen[control.kind] == 2:
                yield place, f"CONTROL_SEQUENCE_{name} is given twice: keep one"
            pairs = [
                pair
                for pair in (
                    control.int32_false_true,
                    control.fp32_false_true,
                    control.bool_false_true,
                )
                if pair
            ]
            if name == "CORRID":
                if pairs:
                    yield place, "CONTROL_SEQUENCE_CORRID has no false and true value: remove them"
            elif len(pairs) != 1 or len(pairs[0]) != 2:
                yield (
                    place,
                    f"CONTROL_SEQUENCE_{name} needs one pair of values: write "
                    "int32_false_true: [ 0, 1 ], or fp32_ or bool_false_true",
                )
