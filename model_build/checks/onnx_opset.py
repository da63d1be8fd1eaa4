"""The release's ONNX Runtime knows the file's operators."""

from collections.abc import Iterator

import platform_facts
from model_build.findings import Place
from model_build.model_config import model_file
from model_build.onnx_graph import read_graph
from model_build.repository import Repository


def onnx_opset(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """An ONNX file's opset is at most that of the release's ONNX Runtime, where that is known."""
    limit = release.onnx_opset
    if limit is None:
        return
    for model in repository.models.values():
        if model.backend != "onnxruntime":
            continue
        for version in model.versions:
            path = model.directory / version / model_file(model.config)
            graph = read_graph(path) if path.is_file() else None
            if graph and graph.opset > limit:
                yield (
                    model.file(version, path.name),
                    f"has opset {graph.opset}; ONNX Runtime {release.onnxruntime} of Triton "
                    f"{release.name} knows up to {limit}: export with opset: {limit} or lower",
                )
