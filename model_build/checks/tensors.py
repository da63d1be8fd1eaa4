"""Tensors are declared whole."""

import math
import os
from collections import Counter
from collections.abc import Sequence

from model_build.findings import Problems
from model_build.model_config import type_name
from model_build.repository import Model


def tensor_declarations(model: Model) -> Problems:
    """Inputs and outputs have names of their own, data types, and dims of -1 or at least 1.

    Triton would fill some of them in from the model file. Here they are the contract: clients, the
    catalog and the checks read them before any model file exists.
    """
    for kind in ("input", "output"):
        tensors = getattr(model.config, kind)
        if not tensors:
            yield model.at(), f"declares no {kind}: add {kind} [ {{ name data_type dims }} ]"
        names = Counter(tensor.name for tensor in tensors)
        for index, tensor in enumerate(tensors):
            yield from _findings(model, kind, index, names[tensor.name])


def _findings(model: Model, kind: str, index: int, same: int) -> Problems:
    tensor = getattr(model.config, kind)[index]
    if not tensor.name:
        yield model.at(kind, index), f'an {kind} has no name: add name: "..."'
    elif same > 1:
        yield model.at(kind, index, "name"), f'{kind} "{tensor.name}" is declared {same} times'
    if not tensor.data_type or not type_name(tensor.data_type).startswith("TYPE_"):
        yield (
            model.at(kind, index, "data_type"),
            f'{kind} "{tensor.name}" has no data type: add data_type: TYPE_FP32 or its like',
        )
    if not tensor.dims:
        yield (
            model.at(kind, index, "dims"),
            f'{kind} "{tensor.name}" has no dims: add dims: [ ... ], without the batch axis where '
            "max_batch_size is above 0",
        )
    for position, size in enumerate(tensor.dims):
        if size < 1 and size != -1:
            yield (
                model.at(kind, index, "dims", position),
                f'{kind} "{tensor.name}" has a dim of {size}: write a size from 1 up, or -1 for '
                "any",
            )


_FORMATS = {1: "FORMAT_NHWC", 2: "FORMAT_NCHW"}


def tensor_shapes(model: Model) -> Problems:
    """`reshape` keeps the number of elements; an image format has three dims.

    Source: core src/model_config_utils.cc, ValidateIOShape and ValidateModelInput.
    """
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


def _reshape(model: Model, kind: str, index: int) -> Problems:
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


def label_files(model: Model) -> Problems:
    """`label_filename` is a file in the model directory, with a line for each value.

    Triton answers requests for a `classification` with these labels.
    """
    for index, output in enumerate(model.config.output):
        if not output.label_filename:
            continue
        place = model.at("output", index, "label_filename")
        path = model.directory / output.label_filename
        if not os.path.isfile(path):
            yield place, f"{output.label_filename} is not beside config.pbtxt: add it there"
            continue
        labels = len(path.read_text(encoding="utf-8", errors="replace").splitlines())
        values = output.dims[-1] if output.dims else -1
        if values > 0 and labels != values:
            yield place, f"{output.label_filename} has {labels} lines for {values} values"
