"""The rule for the input and output maps of ensembles."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from model_build.findings import Problems
from model_build.model_config import ModelConfig, data_type
from model_build.repository import Model, Repository

STEP_FIELD = ("ensemble_scheduling", "step")


def ensemble_maps(repository: Repository) -> Problems:
    """Each tensor has one source, and the type and shape that its consumers expect.

    Triton checks the same when it loads the ensemble, which is after a deploy.
    """
    for model in repository.models.values():
        if model.is_ensemble:
            others = {
                name: other.config
                for name, other in repository.models.items()
                if name != model.name
            }
            yield from _findings(model, others)


@dataclass(frozen=True)
class _Tensor:
    """A configured input or output."""

    data_type: int
    dims: Sequence[int]
    shape: Sequence[int]
    """The dims with the batch axis, if the model has one."""
    optional: bool

    @classmethod
    def by_name(cls, config: ModelConfig, kind: str) -> dict[str, Self]:
        batch = [-1] if config.max_batch_size > 0 else []
        return {
            tensor.name: cls(
                tensor.data_type,
                [*tensor.dims],
                [*batch, *tensor.dims],
                getattr(tensor, "optional", False),
            )
            for tensor in getattr(config, kind)
        }


def _findings(ensemble: Model, models: dict[str, ModelConfig]) -> Problems:
    config = ensemble.config
    produced = _Tensor.by_name(config, "input")
    steps = list(enumerate(config.ensemble_scheduling.step))
    for index, step in steps:
        if step.model_name not in models:
            yield (
                ensemble.field_place(*STEP_FIELD, index, "model_name"),
                f'step "{step.model_name}" is not another model of this archive: {_offer(models)}',
            )
    known = [(index, step) for index, step in steps if step.model_name in models]
    for index, step in known:
        outputs = _Tensor.by_name(models[step.model_name], "output")
        for output, tensor in sorted(step.output_map.items()):
            place = ensemble.field_place(*STEP_FIELD, index, "output_map", output)
            if output not in outputs:
                yield place, f'"{step.model_name}" has no output "{output}": {_offer(outputs)}'
            elif tensor in produced:
                yield place, f'tensor "{tensor}" is made by two steps: rename one of the tensors'
            else:
                produced[tensor] = outputs[output]
    for index, step in known:
        inputs = _Tensor.by_name(models[step.model_name], "input")
        for name, tensor in sorted(step.input_map.items()):
            place = ensemble.field_place(*STEP_FIELD, index, "input_map", name)
            if name not in inputs:
                yield place, f'"{step.model_name}" has no input "{name}": {_offer(inputs)}'
            elif tensor not in produced:
                yield place, f'step "{step.model_name}" uses tensor "{tensor}", which no step makes'
            elif message := _mismatch(step.model_name, name, produced[tensor], inputs[name]):
                yield place, message
        for name in sorted(inputs.keys() - step.input_map.keys()):
            if not inputs[name].optional:
                yield (
                    ensemble.field_place(*STEP_FIELD, index),
                    f'step "{step.model_name}" gives no tensor for its input "{name}"',
                )
    returned = _Tensor.by_name(config, "output")
    for index, declared in enumerate(config.output):
        place, name = ensemble.field_place("output", index), declared.name
        if name not in produced:
            yield place, f'output "{name}" is made by no step: map a step\'s output to it'
        elif message := _mismatch("the ensemble's output", name, produced[name], returned[name]):
            yield place, message
    used = {tensor for _, step in known for tensor in step.input_map.values()}
    for index, step in known:
        for output, tensor in sorted(step.output_map.items()):
            if tensor in produced and tensor not in used | returned.keys():
                yield (
                    ensemble.field_place(*STEP_FIELD, index, "output_map", output),
                    f'tensor "{tensor}" is not used: remove it from the map',
                )
    for index, declared in enumerate(config.input):
        if declared.name not in used and len(known) == len(steps):
            yield (
                ensemble.field_place("input", index),
                f'input "{declared.name}" is used by no step: map it to one, or remove it',
            )


def _offer(known: Iterable[str]) -> str:
    names = ", ".join(sorted(known))
    return f"write one of {names}" if names else "there is none, remove it or add one"


def _mismatch(consumer: str, name: str, produced: _Tensor, expected: _Tensor) -> str:
    """Return the difference between a tensor and the expected one, or an empty string."""
    if produced.data_type != expected.data_type:
        return (
            f'{consumer}: "{name}" is {data_type(expected.data_type)}, but its tensor is '
            f"{data_type(produced.data_type)}"
        )
    # Like Triton (ValidateTensorConsistency): a model that does not batch may declare the batch
    # axis in its dims.
    if _compatible(produced.dims, expected.dims) or _compatible(produced.shape, expected.shape):
        return ""
    return f'{consumer}: "{name}" has dims {expected.dims}, but gets {produced.dims}'


def _compatible(dims: Sequence[int], others: Sequence[int]) -> bool:
    return len(dims) == len(others) and all(
        size == other or -1 in (size, other) for size, other in zip(dims, others, strict=True)
    )
