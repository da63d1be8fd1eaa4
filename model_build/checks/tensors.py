"""Rules for the declarations of inputs and outputs."""

from collections import Counter
from collections.abc import Sequence

from model_build.findings import Problems, warning
from model_build.model_config import type_name
from model_build.repository import Model


def tensor_declarations(model: Model) -> Problems:
    """Inputs and outputs have names, data types, and dims of -1 or at least 1.

    The DALI backend completes types and dims (dali_backend README, "Configuration auto-complete").
    """
    for kind in ("input", "output"):
        for index in range(len(getattr(model.config, kind))):
            yield from _check_tensor(model, kind, index)


@warning
def tensor_lists(model: Model) -> Problems:
    """A model declares its inputs and outputs, each once.

    Triton completes them from some model files, and loads models without them; clients, the catalog
    and the checks read config.pbtxt before a model file exists.
    """
    for kind in ("input", "output"):
        tensors = getattr(model.config, kind)
        if not tensors:
            yield (
                model.field_location(),
                f"declares no {kind}: add {kind} [ {{ name data_type dims }} ]",
            )
        names = Counter(tensor.name for tensor in tensors)
        for index, tensor in enumerate(tensors):
            if tensor.name and names[tensor.name] > 1:
                yield (
                    model.field_location(kind, index, "name"),
                    f'{kind} "{tensor.name}" is declared {names[tensor.name]} times',
                )


def _check_tensor(model: Model, kind: str, index: int) -> Problems:
    tensor = getattr(model.config, kind)[index]
    if not tensor.name:
        yield model.field_location(kind, index), f'an {kind} has no name: add name: "..."'
    is_completed = model.backend == "dali"
    if not is_completed and not _has_type(tensor.data_type):
        yield (
            model.field_location(kind, index, "data_type"),
            f'{kind} "{tensor.name}" has no data type: add data_type: TYPE_FP32 or its like',
        )
    if not tensor.dims and not is_completed:
        yield (
            model.field_location(kind, index, "dims"),
            f'{kind} "{tensor.name}" has no dims: add dims: [ ... ], without the batch axis where '
            "max_batch_size is above 0",
        )
    for position, size in enumerate(tensor.dims):
        if size < 1 and size != -1:
            yield (
                model.field_location(kind, index, "dims", position),
                f'{kind} "{tensor.name}" has a dim of {size}: write a size from 1 up, or -1 for '
                "any",
            )


def _has_type(data_type: int) -> bool:
    return bool(data_type) and type_name(data_type).startswith("TYPE_")


def tensor_formats(model: Model) -> Problems:
    """An input with FORMAT_NHWC or FORMAT_NCHW has three dims, without the batch axis.

    Source: core src/model_config_utils.cc, ValidateModelInput.
    """
    for index, tensor in enumerate(model.config.input):
        if tensor.format and len(tensor.dims) != 3:
            yield (
                model.field_location("input", index, "format"),
                f'input "{tensor.name}" has dims {list(tensor.dims)}, but its format three: remove '
                "format, or write three dims",
            )


def tensor_shapes(model: Model) -> Problems:
    """`dims` and `reshape` have the same number of elements.

    An axis of variable size (-1) splits both into parts; each part too must have the same number.
    Without a batch axis, Triton has no scalars, which are an empty reshape.

    Source: core src/model_config_utils.cc, ValidateIOShape.
    """
    for kind in ("input", "output"):
        for index, tensor in enumerate(getattr(model.config, kind)):
            dims, shape = list(tensor.dims), list(tensor.reshape.shape)
            if tensor.HasField("reshape") and not shape and not model.config.max_batch_size:
                yield (
                    model.field_location(kind, index, "reshape"),
                    f'"{tensor.name}" has an empty reshape, which needs max_batch_size: remove '
                    "reshape",
                )
            elif tensor.HasField("reshape") and (
                _element_counts_between_variable_axes(dims)
                != _element_counts_between_variable_axes(shape)
            ):
                yield (
                    model.field_location(kind, index, "reshape"),
                    f'"{tensor.name}" has dims {dims}, its reshape {shape} has another number of '
                    "elements, or differs before or after a -1: the sizes between the -1s must "
                    "have equal products",
                )


def _element_counts_between_variable_axes(sizes: Sequence[int]) -> list[int]:
    products = [1]
    for size in sizes:
        if size == -1:
            products.append(1)
        else:
            products[-1] *= size
    return products
