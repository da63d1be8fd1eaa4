"""An ensemble's tensors meet."""

import graphlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

from model_build.model_config import ModelConfig, data_type
from model_build.repository import CONFIG, Repository, is_ensemble


def ensemble_maps(repository: Repository) -> Iterator[str]:
    """Every tensor is made once, before it is used, with the type and shape its user expects.

    Triton checks the same at load; found here, it costs no deploy.
    """
    for directory, config in repository.configs.items():
        if is_ensemble(config):
            others = {name: it for name, it in repository.configs.items() if name != directory}
            for finding in _findings(config, others):
                yield f"{repository.named(directory, CONFIG)}: {finding}"


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
            it.name: cls(
                it.data_type, [*it.dims], [*batch, *it.dims], getattr(it, "optional", False)
            )
            for it in getattr(config, kind)
        }


def _findings(ensemble: ModelConfig, models: dict[str, ModelConfig]) -> Iterator[str]:
    made = _Tensor.all_of(ensemble, "input")
    made_from: dict[str, list[str]] = {}
    steps = [step for step in ensemble.ensemble_scheduling.step if step.model_name in models]
    for step in ensemble.ensemble_scheduling.step:
        if step.model_name not in models:
            yield f'step "{step.model_name}" is no other model of this archive: {_offer(models)}'
    for step in steps:
        outputs = _Tensor.all_of(models[step.model_name], "output")
        for output, tensor in sorted(step.output_map.items()):
            if output not in outputs:
                yield f'"{step.model_name}" has no output "{output}": {_offer(outputs)}'
            elif tensor in made:
                yield f'tensor "{tensor}" is made twice: give one of them another name'
            else:
                made[tensor] = outputs[output]
                made_from[tensor] = sorted(step.input_map.values())
    for step in steps:
        inputs = _Tensor.all_of(models[step.model_name], "input")
        for name, tensor in sorted(step.input_map.items()):
            if name not in inputs:
                yield f'"{step.model_name}" has no input "{name}": {_offer(inputs)}'
            elif tensor not in made:
                yield f'step "{step.model_name}" uses tensor "{tensor}", which no step makes'
            else:
                yield from _mismatch(step.model_name, name, made[tensor], inputs[name])
        for name in sorted(inputs.keys() - step.input_map.keys()):
            if not inputs[name].optional:
                yield f'step "{step.model_name}" gives no tensor for its input "{name}"'
    yield from _cycle(made_from)
    for name, output in _Tensor.all_of(ensemble, "output").items():
        if name not in made:
            yield f'output "{name}" is made by no step: map a step\'s output to it'
        else:
            yield from _mismatch("the ensemble's output", name, made[name], output)


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


def _cycle(made_from: dict[str, list[str]]) -> Iterator[str]:
    try:
        graphlib.TopologicalSorter(made_from).prepare()
    except graphlib.CycleError as error:
        tensors = error.args[1]
        yield (
            f'tensor "{tensors[0]}" is used before it is made ({" -> ".join(tensors)}): give one '
            "of these steps a tensor that does not come out of it"
        )
