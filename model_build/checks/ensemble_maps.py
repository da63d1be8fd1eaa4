"""The rule for the input and output maps of ensembles."""

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

from model_build.findings import Problems
from model_build.model_config import ModelConfig, data_type
from model_build.repository import CONFIG, Model, Repository

STEP_FIELD = ("ensemble_scheduling", "step")
COMPLETING_BACKENDS = ("onnxruntime", "dali", "tensorrt", "tensorflow", "openvino")
"""Backends that complete inputs or outputs from the model file if none is declared, before Triton
validates ensembles (core src/backend_model.cc; README of each backend)."""


def ensemble_maps(repository: Repository) -> Problems:
    """Each tensor has one source, and the type and shape that its consumers expect.

    Triton checks the same when it loads the ensemble, which is after a deploy.
    """
    for model in repository.models.values():
        if model.is_ensemble:
            other_models = {
                name: other_model
                for name, other_model in repository.models.items()
                if name != model.name
            }
            yield from _check_ensemble(model, other_models)


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
        """Return the tensors of a model: of an ensemble with the shape that its steps see.

        Source: core src/ensemble_scheduler/ensemble_utils.cc, ValidateEnsembleConfig.
        """
        batch = [-1] if config.max_batch_size > 0 else []
        tensors = {}
        for tensor in getattr(config, kind):
            is_reshaped = config.platform == "ensemble" and tensor.HasField("reshape")
            dims = [*(tensor.reshape.shape if is_reshaped else tensor.dims)]
            optional = getattr(tensor, "optional", False)
            tensors[tensor.name] = cls(tensor.data_type, dims, [*batch, *dims], optional)
        return tensors


def _check_ensemble(ensemble: Model, models: dict[str, Model]) -> Problems:
    config = ensemble.config
    tensors: dict[str, _Tensor | None] = {**_Tensor.by_name(config, "input")}
    all_steps = list(enumerate(config.ensemble_scheduling.step))
    for index, step in all_steps:
        if step.model_name not in models:
            yield (
                ensemble.field_location(*STEP_FIELD, index, "model_name"),
                f'step "{step.model_name}" is not another model of this archive: '
                f"{_missing_step(ensemble, step.model_name, models)}",
            )
    steps = [(index, step) for index, step in all_steps if step.model_name in models]
    for index, step in all_steps:
        declared = models.get(step.model_name)
        outputs = _Tensor.by_name(declared.config, "output") if declared else {}
        if declared is None or (not outputs and declared.backend in COMPLETING_BACKENDS):
            tensors.update(dict.fromkeys(step.output_map.values()))
            continue
        for output, tensor in sorted(step.output_map.items()):
            location = ensemble.field_location(*STEP_FIELD, index, "output_map", output)
            if output not in outputs:
                yield (
                    location,
                    f'"{step.model_name}" has no output "{output}": {_suggest_names(outputs)}',
                )
            elif tensor in tensors:
                yield location, f'tensor "{tensor}" is made by two steps: rename one of the tensors'
            else:
                tensors[tensor] = outputs[output]
    for index, step in steps:
        inputs = _Tensor.by_name(models[step.model_name].config, "input")
        is_completed = not inputs and models[step.model_name].backend in COMPLETING_BACKENDS
        for name, tensor in sorted(step.input_map.items()):
            location = ensemble.field_location(*STEP_FIELD, index, "input_map", name)
            if name not in inputs and not is_completed:
                yield (
                    location,
                    f'"{step.model_name}" has no input "{name}": {_suggest_names(inputs)}',
                )
            elif tensor not in tensors:
                yield (
                    location,
                    f'step "{step.model_name}" uses tensor "{tensor}", which no step makes',
                )
            elif message := _describe_mismatch(
                step.model_name, name, tensors[tensor], inputs.get(name)
            ):
                yield location, message
        for name in sorted(inputs.keys() - step.input_map.keys()):
            if not inputs[name].optional:
                yield (
                    ensemble.field_location(*STEP_FIELD, index),
                    f'step "{step.model_name}" gives no tensor for its input "{name}"',
                )
    outputs_of_ensemble = _Tensor.by_name(config, "output")
    for index, config_tensor in enumerate(config.output):
        location, name = ensemble.field_location("output", index), config_tensor.name
        if name not in tensors:
            yield location, f'output "{name}" is made by no step: map a step\'s output to it'
        elif message := _describe_mismatch(
            "the ensemble's output", name, tensors[name], outputs_of_ensemble[name]
        ):
            yield location, message
    used_names = {tensor for _, step in all_steps for tensor in step.input_map.values()}
    for index, step in steps:
        for output, tensor in sorted(step.output_map.items()):
            if tensor in tensors and tensor not in used_names | outputs_of_ensemble.keys():
                yield (
                    ensemble.field_location(*STEP_FIELD, index, "output_map", output),
                    f'tensor "{tensor}" is not used: remove it from the map',
                )
    for index, config_tensor in enumerate(config.input):
        if config_tensor.name not in used_names:
            yield (
                ensemble.field_location("input", index),
                f'input "{config_tensor.name}" is used by no step: map it to one, or remove it',
            )


def _missing_step(ensemble: Model, name: str, models: Iterable[str]) -> str:
    """Return the fix for a step whose model is missing."""
    if name and (ensemble.directory.parent / name).is_dir():
        return f"its folder has no {CONFIG}, which archives need: write one"
    similar_names = difflib.get_close_matches(name, models, n=1)
    return f"did you mean {similar_names[0]}?" if similar_names else "add its folder"


def _suggest_names(names: Iterable[str]) -> str:
    """Return the fix for an unknown name."""
    sorted_names = ", ".join(sorted(names))
    return f"write one of {sorted_names}" if sorted_names else "it declares none: declare it"


def _describe_mismatch(
    consumer: str, name: str, tensor: _Tensor | None, expected: _Tensor | None
) -> str:
    """Return the difference between a tensor and the expected one, or an empty string.

    None is a tensor that no configuration declares.
    """
    if tensor is None or expected is None:
        return ""
    if tensor.data_type != expected.data_type:
        return (
            f'{consumer}: "{name}" is {data_type(expected.data_type)}, but its tensor is '
            f"{data_type(tensor.data_type)}"
        )
    # Like Triton (ValidateTensorConsistency): a model that does not batch may declare the batch
    # axis in its dims.
    if _are_compatible(tensor.dims, expected.dims) or _are_compatible(tensor.shape, expected.shape):
        return ""
    return f'{consumer}: "{name}" has dims {expected.dims}, but gets {tensor.dims}'


def _are_compatible(dims: Sequence[int], expected_dims: Sequence[int]) -> bool:
    """Return whether the dims are equal, where -1 is equal to any size."""
    return len(dims) == len(expected_dims) and all(
        size == expected or -1 in (size, expected)
        for size, expected in zip(dims, expected_dims, strict=True)
    )
