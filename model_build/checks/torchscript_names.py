"""Tensors of TorchScript models can be told apart by position."""

import re
from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository

BY_POSITION = re.compile(r".+?__(?P<index>[0-9]+)")


def torchscript_names(repository: Repository) -> Iterator[tuple[Place, str]]:
    """All inputs are called NAME__0, NAME__1, ..., or none is; and so are the outputs.

    TorchScript has no output names, and may have no input names: Triton takes the position from
    the name. Where one name has none, it silently goes by the order in config.pbtxt. Source:
    pytorch_backend src/pt/model_state.cc, GetNamingConvention.
    """
    for model in repository.models.values():
        if model.backend != "pytorch" or model.config.platform == "torch_aoti":
            continue
        for kind in ("input", "output"):
            tensors = getattr(model.config, kind)
            found = [BY_POSITION.fullmatch(tensor.name) for tensor in tensors]
            for index, (tensor, match) in enumerate(zip(tensors, found, strict=True)):
                if match is None and any(found):
                    yield (
                        model.at(kind, index, "name"),
                        f'"{tensor.name}" has no position, as others have: write '
                        f"{kind.upper()}__{index}",
                    )
            positions = sorted(int(match["index"]) for match in found if match)
            if all(found) and positions != list(range(len(found))):
                yield (
                    model.at(kind),
                    f"{kind}s have positions {positions}: number them from 0, each once",
                )
