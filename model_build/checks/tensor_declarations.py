"""Every tensor is declared, once, with a type and dims."""

from collections import Counter
from collections.abc import Iterator

from model_build.findings import Place
from model_build.model_config import type_name
from model_build.repository import Model, Repository

_NO_STRINGS = ("tensorrt",)
"""Backends whose tensors are never of TYPE_STRING."""


def tensor_declarations(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Inputs and outputs have names of their own, data types, and dims of -1 or at least 1.

    Triton would fill some of them in from the model file. Here they are the contract: clients, the
    catalog and the checks read them before any model file exists.
    """
    for model in repository.models.values():
        for kind in ("input", "output"):
            tensors = getattr(model.config, kind)
            if not tensors:
                yield model.at(), f"declares no {kind}: add {kind} [ {{ name data_type dims }} ]"
            for index, tensor in enumerate(tensors):
                if kind == "input" and tensor.optional and _refuses_optional(model):
                    yield (
                        model.at(kind, index, "optional"),
                        f'input "{tensor.name}" is optional, which the onnxruntime backend has for '
                        "models that do not batch only",
                    )
            names = Counter(tensor.name for tensor in tensors)
            for index, tensor in enumerate(tensors):
                yield from _findings(model, kind, index, names[tensor.name])


def _refuses_optional(model: Model) -> bool:
    """Source: onnxruntime_backend src/onnxruntime.cc, "optional input ... is not supported"."""
    return model.backend == "onnxruntime" and model.config.max_batch_size > 0


def _findings(model: Model, kind: str, index: int, same: int) -> Iterator[tuple[Place, str]]:
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
    elif type_name(tensor.data_type) == "TYPE_STRING" and model.backend in _NO_STRINGS:
        yield (
            model.at(kind, index, "data_type"),
            f'{kind} "{tensor.name}" is TYPE_STRING, which {model.backend} does not have: give it '
            "numbers",
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
