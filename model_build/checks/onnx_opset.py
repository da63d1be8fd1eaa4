"""The release's ONNX Runtime knows the file's operators."""

from collections.abc import Iterator

import platform_facts
from model_build.checks.model_files.onnx_graph import read_graph
from model_build.findings import Place
from model_build.repository import Repository


def onnx_opset(
    release: platform_facts.Release, repository: Repository
) -> Iterator[tuple[Place, str]]:
    """An ONNX file's opset is at most that of the release's ONNX Runtime, where that is known."""
    limit = release.onnx_opset
    if limit is None:
        return
    for model, path in repository.model_files("onnxruntime"):
        graph = read_graph(path)
        if graph and graph.opset > limit:
            yield (
                model.file(model.inner(path)),
                f"has opset {graph.opset}; ONNX Runtime {release.onnxruntime} of Triton "
                f"{release.name} knows up to {limit}: export with opset: {limit} or lower",
            )
