"""An ensemble's tensors meet."""

from collections.abc import Iterator, Sequence
from typing import Any

from model_build.model_config import ModelConfig, data_type
from model_build.repository import CONFIG, Repository, is_ensemble


def ensemble_maps(repository: Repository) -> Iterator[str]:
    """Every tensor is made once, before it is used, with the type and shape its user expects.

    Triton checks the same at load; found here, it costs no deploy.
    """
    for directory, config in repository.configs.items():
        if is_ensemble(config):
            path = repository.folder / directory / CONFIG
            for finding in _findings(config, repository.configs):
                yield f"{path}: {finding}"


def _findings(ensemble: ModelConfig, configs: dict[str, ModelConfig]) -> Iterator[str]:
    made: dict[str, Any] = {tensor.name: tensor for tensor in ensemble.input}
    steps = [step for step in ensemble.ensemble_scheduling.step if step.model_name in configs]
    for step in ensemble.ensemble_scheduling.step:
        if step.model_name not in configs:
            known = ", ".join(sorted(set(configs) - {ensemble.name}))
            yield f'step "{step.model_name}" is no model of this archive: write one of {known}'
    for step in steps:
        outputs = {tensor.name: tensor for tensor in configs[step.model_name].output}
        for output, tensor in step.output_map.items():
            if output not in outputs:
                yield _unknown(step.model_name, "output", output, outputs)
            elif tensor in made:
                yield f'tensor "{tensor}" is made twice: give one of them another name'
            else:
                made[tensor] = outputs[output]
    for step in steps:
        inputs = {tensor.name: tensor for tensor in configs[step.model_name].input}
        for name, tensor in step.input_map.items():
            if name not in inputs:
                yield _unknown(step.model_name, "input", name, inputs)
            elif tensor not in made:
                yield f'step "{step.model_name}" uses tensor "{tensor}", which no step makes'
            else:
                yield from _mismatch(step.model_name, made[tensor], inputs[name])
        for name in inputs.keys() - step.input_map.keys():
            if not inputs[name].optional:
                yield f'step "{step.model_name}" gives no tensor for its input "{name}"'
    for output in ensemble.output:
        if output.name not in made:
            yield f'output "{output.name}" is made by no step: map a step\'s output to it'
        else:
            yield from _mismatch("the ensemble's output", made[output.name], output)


def _unknown(model: str, kind: str, name: str, known: dict[str, Any]) -> str:
    return f'"{model}" has no {kind} "{name}": write one of {", ".join(sorted(known))}'


def _mismatch(user: str, made: Any, used: Any) -> Iterator[str]:
    if made.data_type != used.data_type:
        yield (
            f'{user}: "{used.name}" is {data_type(used.data_type)}, what it is given is '
            f"{data_type(made.data_type)}"
        )
    elif not _shapes_agree(made.dims, used.dims):
        yield f'{user}: "{used.name}" has dims {list(used.dims)}, given {list(made.dims)}'


def _shapes_agree(made: Sequence[int], used: Sequence[int]) -> bool:
    return len(made) == len(used) and all(
        a == b or -1 in (a, b) for a, b in zip(made, used, strict=True)
    )
