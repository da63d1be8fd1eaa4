"""config.pbtxt says what the ONNX file says."""

from collections.abc import Iterator

from model_build.checks.model_files.file_tensors import compare
from model_build.checks.model_files.onnx_graph import read_graph
from model_build.findings import Place
from model_build.repository import Repository


def onnx_tensors(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Names, data types and dims are those of the file's graph, whose first axis is the batch's.

    Source: onnxruntime_backend src/onnxruntime.cc (ValidateInputs, ValidateOutputs).
    """
    for model, path in repository.model_files("onnxruntime"):
        file = model.inner(path)
        graph = read_graph(path)
        if graph is None:
            yield model.file(file), "is not an ONNX file: build or copy it again"
            continue
        yield from compare(model, "input", graph.inputs, file=file)
        yield from compare(model, "output", graph.outputs, file=file)
