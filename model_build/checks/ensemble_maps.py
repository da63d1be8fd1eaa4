"""An ensemble's tensors meet."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from model_build.findings import Problems
from model_build.model_config import ModelConfig, data_type
from model_build.repository import Model, Repository

STEP = ("ensemble_scheduling", "step")


def ensemble_maps(repository: Repository) -> Problems:
    """Every tensor is made once, before it is used, with the type and shape its user expects.

    Triton checks the same at load; found here, it costs no deploy.
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
    """An input or output as its model's configuration gives it."""

    data_type: int
    dims: Sequence[int]
    shape: Sequence[int]
    """The dims behind the batch axis, where the model has one."""
    optional: bool

    @classmethod
    def all_of(cls, config: ModelConfig, kind: str) -> dict[str, Self]:
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
    made = _Tensor.all_of(config, "input")
    steps = list(enumerate(config.ensemble_scheduling.step))
    for index, step in steps:
        if step.model_name not in models:
            yield (
                ensemble.field_place(*STEP, index, "model_name"),
                f'step "{step.model_name}" is not another model of this archive: {_offer(models)}',
            )
    known = [(index, step) for index, step in steps if step.model_name in models]
    for index, step in known:
        outputs = _Tensor.all_of(models[step.model_name], "output")
        for output, tensor in sorted(step.output_map.items()):
            place = ensemble.field_place(*STEP, index, "output_map", output)
            if output not in outputs:
                yield place, f'"{step.model_name}" has no output "{output}": {_offer(outputs)}'
            elif tensor in made:
                yield place, f'tensor "{tensor}" is made twice: give one of them another name'
            else:
                made[tensor] = outputs[output]
    for index, step in known:
        inputs = _Tensor.all_of(models[step.model_name], "input")
        for name, tensor in sorted(step.input_map.items()):
            place = ensemble.field_place(*STEP, index, "input_map", name)
            if name not in inputs:
                yield place, f'"{step.model_name}" has no input "{name}": {_offer(inputs)}'
            elif tensor not in made:
                yield place, f'step "{step.model_name}" uses tensor "{tensor}", which no step makes'
            else:
                for wrong in _mismatch(step.model_name, name, made[tensor], inputs[name]):
                    yield place, wrong
        for name in sorted(inputs.keys() - step.input_map.keys()):
            if not inputs[name].optional:
                yield (
                    ensemble.field_place(*STEP, index),
                    f'step "{step.model_name}" gives no tensor for its input "{name}"',
                )
    for index, declared in enumerate(config.output):
        place, name = ensemble.field_place("output", index), declared.name
        if name not in made:
            yield place, f'output "{name}" is made by no step: map a step\'s output to it'
        else:
            output = _Tensor.all_of(config, "output")[name]
            for wrong in _mismatch("the ensemble's output", name, made[name], output):
                yield place, wrong
    used = {tensor for _, step in known for tensor in step.input_map.values()}
    returned = {tensor.name for tensor in config.output}
    for index, step in known:
        for output, tensor in sorted(step.output_map.items()):
            if tensor in made and tensor not in used | returned:
                yield (
                    ensemble.field_place(*STEP, index, "output_map", output),
                    f'tensor "{tensor}" is used by nothing: remove it from the map',
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


def _mismatch(user: str, name: str, made: _Tensor, used: _Tensor) -> Iterator[str]:
    if made.data_type != used.data_type:
        yield (
            f'{user}: "{name}" is {data_type(used.data_type)}, what it is given is '
            f"{data_type(made.data_type)}"
        )
    elif not _agree(made.dims, used.dims) and not _agree(made.shape, used.shape):
        # As Triton has it (ValidateTensorConsistency): a model without batches may spell the axis.
        yield f'{user}: "{name}" has dims {used.dims}, given {made.dims}'


def _agree(made: Sequence[int], used: Sequence[int]) -> bool:
    return len(made) == len(used) and all(
        a == b or -1 in (a, b) for a, b in zip(made, used, strict=True)
    )
