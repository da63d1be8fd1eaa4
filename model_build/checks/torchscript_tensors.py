"""config.pbtxt has as many tensors as the TorchScript file."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from model_build.findings import Place
from model_build.repository import Model, Repository


def torchscript_tensors(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Inputs and outputs are as many as `forward` takes and returns.

    TorchScript has neither types nor dims of tensors; arguments have names.
    """
    for model, path in repository.model_files("pytorch"):
        if model.config.platform != "torch_aoti":
            yield from _findings(model, path, model.inner(path))


def _findings(model: Model, path: Path, file: str) -> Iterator[tuple[Place, str]]:
    try:
        module = _load(path)
    except RuntimeError as error:
        reason = str(error).splitlines()[0]
        yield model.file(file), f"is not a TorchScript file: {reason}"
        return
    if not hasattr(module, "forward"):
        yield model.file(file), "has no method forward, which Triton calls: trace it again"
        return
    arguments = [it.name for it in module.forward.schema.arguments if it.name != "self"]
    declared = [it.name for it in model.config.input]
    by_position = all("__" in name for name in declared)
    if by_position and len(declared) != len(arguments):
        yield (
            model.at("input"),
            f"declares {len(declared)} inputs, forward in {file} takes {len(arguments)}: "
            f"{', '.join(arguments)}",
        )
    elif not by_position and len(arguments) > 1 and sorted(declared) != sorted(arguments):
        yield (
            model.at("input"),
            f"declares inputs {', '.join(declared)}, forward in {file} takes "
            f"{', '.join(arguments)}",
        )
    given = _number_of_outputs(module)
    if given is not None and len(model.config.output) > given:
        yield (
            model.at("output"),
            f"declares {len(model.config.output)} outputs, forward in {file} returns {given}",
        )


def _load(path: Path) -> Any:
    import torch

    with warnings.catch_warnings():  # torch.jit is deprecated, and what the backend loads
        warnings.simplefilter("ignore")
        return torch.jit.load(path, map_location="cpu")  # type: ignore[no-untyped-call]


def _number_of_outputs(module: Any) -> int | None:
    """Return how many tensors `forward` returns; None where that is not fixed."""
    (returned,) = module.forward.schema.returns
    match returned.type.kind():
        case "TensorType":
            return 1
        case "TupleType":
            return len(returned.type.elements())
    return None
