"""Serialized DALI pipelines."""

from pathlib import Path
from typing import ClassVar, Literal

from model_build.export.environment_step import EnvironmentStep
from model_build.export.step import StepContext, StepOutput, Writer
from model_build.findings import Problems
from model_build.format import Format
from model_build.formats.dali.definition import decode_on_gpu, read_pipeline
from model_build.repository import Model


class Dali(EnvironmentStep):
    """A serialized DALI pipeline.

    The function `source` has no arguments and returns a `nvidia.dali.Pipeline` for the CPU. For GPU
    targets the builder moves image decoders and their successors to the GPU; the build needs no
    GPU.
    """

    backend: ClassVar[str] = "dali"
    writer: ClassVar[Writer] = Writer(name="dali", packages=r"nvidia[-_.]dali[-_.]cuda[0-9]+")
    worker: ClassVar[Path] = Path(__file__).with_name("worker.py")
    to: Literal["dali"]

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Write the pipeline."""
        self.run(output_path, context)
        if context.target.processor == "cuda":
            output_path.write_bytes(decode_on_gpu(output_path.read_bytes()))
        return StepOutput([])


def dali_tensors(model: Model, path: Path) -> Problems:
    """Inputs have the names of the pipeline's external sources; the number of outputs is equal.

    Source: dali_backend src/config_tools/config_tools.cc. Outputs are matched by order. The backend
    completes a list that is not declared.
    """
    file = model.relative_path(path)
    pipeline = read_pipeline(path)
    if pipeline is None:
        yield model.file_location(file), "is not a serialized DALI pipeline"
        return
    declared = [tensor.name for tensor in model.config.input]
    if declared and sorted(declared) != sorted(pipeline.inputs):
        yield (
            model.field_location("input"),
            f"declares inputs {', '.join(declared) or 'none'}; the external sources in {file} are "
            f"{', '.join(pipeline.inputs) or 'none'}",
        )
    if model.config.output and len(model.config.output) != len(pipeline.outputs):
        yield (
            model.field_location("output"),
            f"declares {len(model.config.output)} outputs, {file} has {len(pipeline.outputs)}",
        )


FORMAT = Format(
    backend="dali",
    file="model.dali",
    instead_of_file=("dali.py",),  # dali_backend README, "Autoserialization"
    steps=(Dali,),
    file_rules=(dali_tensors,),
)
