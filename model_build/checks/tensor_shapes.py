"""A tensor's reshape and format fit its dims."""

import math
from collections.abc import Iterator, Sequence

from model_build.findings import Place
from model_build.repository import Model, Repository

_FORMATS = {1: "FORMAT_NHWC", 2: "FORMAT_NCHW"}


def tensor_shapes(repository: Repository) -> Iterator[tuple[Place, str]]:
    """`reshape` keeps the number of elements; an image format has three dims.

    Source: core src/model_config_utils.cc, ValidateIOShape and ValidateModelInput.
    """
    for model in repository.models.values():
        for kind in ("input", "output"):
            for index, tensor in enumerate(getattr(model.config, kind)):
                if tensor.HasField("reshape"):
                    yield from _reshape(model, kind, index)
        for kind in ("input", "output"):
            for field in ("is_shape_tensor", "is_non_linear_format_io"):
                for index, tensor in enumerate(getattr(model.config, kind)):
                    if getattr(tensor, field) and model.backend != "tensorrt":
                        yield (
                            model.at(kind, index, field),
                            f'{kind} "{tensor.name}" has {field}, which only the tensorrt backend '
                            "has: remove it",
                        )
        for index, tensor in enumerate(model.config.input):
            if tensor.format in _FORMATS and len(tensor.dims) != 3:
                yield (
                    model.at("input", index, "format"),
                    f'input "{tensor.name}" is {_FORMATS[tensor.format]} with {len(tensor.dims)} '
                    "dims: an image has three, or remove format",
                )


def _reshape(model: Model, kind: str, index: int) -> Iterator[tuple[Place, str]]:
    tensor = getattr(model.config, kind)[index]
    dims, shape = list(tensor.dims), list(tensor.reshape.shape)
    place = model.at(kind, index, "reshape")
    if any(size < 1 and size != -1 for size in shape):
        yield place, f'"{tensor.name}" is reshaped to {shape}: write sizes from 1 up, or -1'
    elif -1 in dims or -1 in shape:
        if not _variable_parts_match(dims, shape):
            yield (
                place,
                f'"{tensor.name}" has dims {dims}, its reshape {shape} has other sizes around -1: '
                "between two -1 the products must be equal",
            )
    elif math.prod(dims) != math.prod(shape):
        yield (
            place,
            f'"{tensor.name}" has {math.prod(dims)} elements ({dims}), its reshape '
            f"{math.prod(shape)} ({shape}): make them equal",
        )
    if not model.config.max_batch_size and not shape:
        yield (
            place,
            f'"{tensor.name}" is reshaped to no dims, which only a model that batches can be',
        )


def _variable_parts_match(dims: Sequence[int], shape: Sequence[int]) -> bool:
    return _products_between_variables(dims) == _products_between_variables(shape)


def _products_between_variables(sizes: Sequence[int]) -> list[int]:
    products = [1]
    for size in sizes:
        if size == -1:
            products.append(1)
        else:
            products[-1] *= size
    return products
