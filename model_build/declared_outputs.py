"""Comparison of a model's outputs with config.pbtxt."""

from collections.abc import Iterable, Iterator

from model_build.export.gate import OutputTensor
from model_build.findings import Finding
from model_build.formats.torchscript import NAME_WITH_POSITION
from model_build.model_config import data_type, dims_match
from model_build.repository import Model


def declared_outputs(
    model: Model,
    actual_outputs: Iterable[OutputTensor],
    *,
    batch: int | None = None,
    backend: str | None = None,
) -> Iterator[Finding]:
    """Yield a finding for each declared output that is missing or has another type or shape.

    `batch` is the batch size of the request, None for any. `backend` is set if `actual_outputs`
    come from the model file itself and not from Triton: then `reshape` is not applied, and
    TorchScript outputs are matched by position. With `max_batch_size`, outputs have the batch axis
    in front of the dims (triton-inference-server/server, docs/user_guide/model_configuration.md,
    "Maximum Batch Size").
    """
    tensors = list(actual_outputs)
    tensors_by_name = {tensor.name: tensor for tensor in tensors}
    has_batch_axis = model.config.max_batch_size > 0
    for index, config_output in enumerate(model.config.output):
        tensor = tensors_by_name.get(config_output.name)
        if backend == "pytorch":
            match = NAME_WITH_POSITION.fullmatch(config_output.name)
            tensor = tensors[int(match["index"]) if match else index]
        if tensor is None:
            yield Finding(
                declared_outputs.__name__,
                model.field_location("output", index, "name"),
                f'output "{config_output.name}" is declared, but the model returns '
                f"{', '.join(tensors_by_name) or 'none'}: return it, or remove it here",
            )
            continue
        datatype = data_type(config_output.data_type)
        if tensor.datatype != datatype:
            yield Finding(
                declared_outputs.__name__,
                model.field_location("output", index, "data_type"),
                f'output "{config_output.name}" is declared {datatype}, but the model returns '
                f"{tensor.datatype}: make them equal",
            )
        is_reshaped = backend and config_output.HasField("reshape")
        dims = list(config_output.reshape.shape if is_reshaped else config_output.dims)
        if model.backend == "fil":
            # Axes of size 1 are removed: squeeze_output in fil_backend, src/shared_state.h.
            dims = [size for size in dims if size != 1]
        shape = [batch or -1, *dims] if has_batch_axis else dims
        if not dims_match(shape, tensor.shape):
            yield Finding(
                declared_outputs.__name__,
                model.field_location("output", index, "dims"),
                f'output "{config_output.name}" is declared {shape}'
                + (" with the batch axis" if has_batch_axis else "")
                + f", but the model returns {list(tensor.shape)}: change dims, or the model",
            )
