"""config.pbtxt says what the ONNX file says."""

from collections.abc import Iterator

from model_build.file_tensors import compare
from model_build.findings import Place
from model_build.model_config import model_file
from model_build.onnx_graph import read_graph
from model_build.repository import Repository


def onnx_tensors(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Names, data types and dims are those of the file's graph, whose first axis is the batch's.

    Source: onnxruntime_backend src/onnxruntime.cc (ValidateInputs, ValidateOutputs).
    """
    for model in repository.models.values():
        if model.backend != "onnxruntime":
            continue
        file = model_file(model.config)
        for version in model.versions:
            path = model.directory / version / file
            if not path.is_file():
                continue
            graph = read_graph(path)
            if graph is None:
                yield model.file(version, file), "is no ONNX file: build or copy it again"
                continue
            yield from compare(model, "input", graph.inputs, file=f"{version}/{file}")
            yield from compare(model, "output", graph.outputs, file=f"{version}/{file}")
