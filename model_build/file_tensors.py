"""Comparison of a model file's tensors with config.pbtxt."""

from collections.abc import Sequence
from dataclasses import dataclass

from model_build.findings import Problems
from model_build.model_config import ModelConfig, dims_match, type_name
from model_build.repository import Model


@dataclass(frozen=True)
class FileTensor:
    """An input or output of a model file.

    `data_type` is Triton's name (`TYPE_FP32`). `dims` include the batch axis; -1 is any size. Both
    are None if the file does not declare them. `first_axis` is the name of a dynamic first axis.
    """

    name: str
    data_type: str | None
    dims: Sequence[int] | None
    optional: bool = False
    first_axis: str = ""


def compare(
    model: Model, kind: str, in_file: Sequence[FileTensor], *, file: str, batches: bool
) -> Problems:
    """Yield every difference between a model's `input` or `output` and its file.

    `kind` is `input` or `output`, `file` the file's name in messages. A list that is not declared
    is not compared: the backend completes it. `batches` is whether Triton adds a batch axis.
    """
    by_name = {tensor.name: tensor for tensor in in_file}
    offer = ", ".join(by_name) or "none"
    declared = getattr(model.config, kind)
    if not declared:
        return
    for index, tensor in enumerate(declared):
        file_tensor = by_name.get(tensor.name)
        if file_tensor is None:
            yield (
                model.field_location(kind, index, "name"),
                f'{file} has no {kind} "{tensor.name}"; it has {offer}',
            )
            continue
        if file_tensor.data_type and file_tensor.data_type != type_name(tensor.data_type):
            yield (
                model.field_location(kind, index, "data_type"),
                f'{kind} "{tensor.name}" is {file_tensor.data_type} in {file}',
            )
        if file_tensor.dims is not None:
            dims = list(tensor.reshape.shape if tensor.HasField("reshape") else tensor.dims)
            yield from _compare_dims(
                model, kind, index, dims, list(file_tensor.dims), file, batches=batches
            )
    if kind == "input":
        others = _inputs_of_triton(model.config)
        for name in by_name.keys() - {tensor.name for tensor in declared} - others:
            if not by_name[name].optional:
                yield model.field_location(kind), f'{file} needs an input "{name}": declare it'


def _inputs_of_triton(config: ModelConfig) -> set[str]:
    """Return the inputs that Triton makes itself: controls and states of sequences, batch inputs.

    Sources: model_config.proto; onnxruntime_backend src/onnxruntime.cc counts them apart.
    """
    sequences = config.sequence_batching
    controls = {control.name for control in sequences.control_input}
    states = {state.input_name for state in sequences.state}
    return controls | states | {name for item in config.batch_input for name in item.target_name}


def _compare_dims(
    model: Model,
    kind: str,
    index: int,
    dims: list[int],
    in_file: list[int],
    file: str,
    *,
    batches: bool,
) -> Problems:
    name = getattr(model.config, kind)[index].name
    location = model.field_location(kind, index, "dims")
    if not in_file and not batches and dims and set(dims) == {1}:
        return  # a scalar: Triton has no other dims for it
    if batches and in_file and in_file[0] != -1:
        yield (
            location,
            f'{kind} "{name}" is {in_file} in {file}: its first axis is not dynamic, so the model '
            "cannot batch: write max_batch_size: 0 with all dims, or export a dynamic batch axis",
        )
        return
    shape = [-1, *dims] if batches else dims
    if not (dims_match(in_file, shape) if kind == "input" else in_file == shape):
        expected = in_file[1:] if batches and in_file else in_file
        yield (
            location,
            f'{kind} "{name}" has dims {dims}, {file} has {expected}'
            + (" behind the batch axis" if batches else "")
            + _reshape(dims, expected),
        )


def _reshape(dims: list[int], in_file: Sequence[int]) -> str:
    """Return the fix for dims that differ from the file's only in axes of size 1."""
    if [size for size in dims if size != 1] != [size for size in in_file if size != 1]:
        return ""
    return f": write dims as the file has them, or add reshape {{ shape: {list(in_file)} }}"
