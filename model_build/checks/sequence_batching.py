"""Stateful models get the controls that sequence batching needs."""

from collections import Counter
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Model, Repository

_NAMES = {0: "START", 1: "READY", 2: "END", 3: "CORRID"}


def sequence_batching(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Each control is given once, and a START, END or READY with one pair of values.

    Source: core src/model_config_utils.cc, GetBooleanSequenceControlProperties and
    GetTypedSequenceControlProperties.
    """
    for model in repository.models.values():
        if model.config.HasField("sequence_batching"):
            yield from _findings(model)


def _findings(model: Model) -> Iterator[tuple[Place, str]]:
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
