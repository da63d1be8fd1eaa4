"""config.pbtxt has the inputs and outputs of the DALI pipeline."""

from collections.abc import Iterator

from model_build.checks.model_files.dali_pipeline import read_pipeline
from model_build.findings import Place
from model_build.repository import Repository


def dali_tensors(repository: Repository) -> Iterator[tuple[Place, str]]:
    """Inputs are called as the pipeline's external sources; outputs are as many as its own.

    Source: dali_backend src/config_tools/config_tools.cc. Outputs are matched by their order.
    """
    for model, path in repository.model_files("dali"):
        file = model.inner(path)
        pipeline = read_pipeline(path)
        if pipeline is None:
            yield model.file(file), "is not a serialized DALI pipeline"
            continue
        declared = [tensor.name for tensor in model.config.input]
        if sorted(declared) != sorted(pipeline.inputs):
            yield (
                model.at("input"),
                f"declares inputs {', '.join(declared) or 'none'}; the external sources in "
                f"{file} are {', '.join(pipeline.inputs) or 'none'}",
            )
        if len(model.config.output) != len(pipeline.outputs):
            yield (
                model.at("output"),
                f"declares {len(model.config.output)} outputs, {file} has {len(pipeline.outputs)}",
            )
