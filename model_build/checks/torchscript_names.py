"""Tensors of TorchScript models can be told apart by position."""

import re
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

_BY_POSITION = re.compile(r".+__(?P<index>[0-9]+)")


def torchscript_names(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Outputs are called NAME__0, NAME__1, ...; so are inputs, unless forward's arguments are.

    TorchScript has no output names, so Triton takes the position from the name. Source:
    pytorch_backend README, and docs/user_guide/model_configuration.md (Special Conventions for
    PyTorch Backend).
    """
    for model in repository.models.values():
        if model.backend != "pytorch":
            continue
        for kind in ("input", "output"):
            tensors = getattr(model.config, kind)
            found = [_BY_POSITION.fullmatch(tensor.name) for tensor in tensors]
            if kind == "input" and not any(found):
                continue  # the names of forward's arguments, or of a dictionary's keys
            for index, (tensor, match) in enumerate(zip(tensors, found, strict=True)):
                if match is None:
                    yield (
                        model.at(kind, index, "name"),
                        f'"{tensor.name}" has no position: write {kind.upper()}__{index}',
                    )
            positions = sorted(int(match["index"]) for match in found if match)
            if all(found) and positions != list(range(len(found))):
                yield (
                    model.at(kind),
                    f"{kind}s have positions {positions}: number them from 0, each once",
                )
