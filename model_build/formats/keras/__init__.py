"""TensorFlow models, and exports of Keras models as GraphDef or ONNX file."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from model_build.export.environment_step import EnvironmentStep
from model_build.export.gate import GateCase, compare, read_outputs
from model_build.export.step import RecipeStep, StepContext, StepOutput, Writer
from model_build.format import Format
from model_build.formats.onnx.export import run_onnx
from model_build.recipe_values import Gate
from model_build.target import BuildTarget

BATCHES = (1, 2, 4)


class _KerasExport(EnvironmentStep):
    """The export of a Keras model.

    The function `source` gets the folder of the verified weights and returns a `keras.Model`.
    """

    worker: ClassVar[Path] = Path(__file__).with_name("worker.py")
    opset: Annotated[int, Field(ge=13)]
    gate: Gate

    def generate(self, output_path: Path, context: StepContext) -> StepOutput:
        """Write the file and compare its outputs with Keras.

        A GraphDef runs in the worker's TensorFlow, an ONNX file in this process's ONNX Runtime.
        """
        file, is_onnx = context.scratch / f"{output_path.name}.npz", self.backend == "onnxruntime"
        self.run(
            output_path,
            context,
            onnx=is_onnx,
            opset=self.opset,
            outputs_file=str(file),
            batches=BATCHES,
        )
        shapes, tensors = read_outputs(file)
        original = tensors["original"]
        converted = tensors.get("converted") or run_onnx(
            output_path, tensors["input"], tuple(original[0])
        )
        cases = map(GateCase, shapes, converted, original)
        report = compare(cases, self.gate, converted_name=output_path.name, original_name="Keras")
        return StepOutput([(f"{'ONNX' if is_onnx else 'GraphDef'} and Keras", report)])


class TensorFlowOnnx(_KerasExport):
    """An ONNX file of a Keras model."""

    backend: ClassVar[str] = "onnxruntime"
    to: Literal["tensorflow-onnx"]


class GraphDef(_KerasExport):
    """A frozen TensorFlow GraphDef.

    For CPU targets and releases without the TensorFlow backend, the step makes the ONNX file.
    """

    backend: ClassVar[str] = "tensorflow"
    writer: ClassVar[Writer] = Writer(name="tensorflow", packages=r"tensorflow([-_.]cpu)?")
    to: Literal["graphdef"]

    def for_target(self, target: BuildTarget) -> RecipeStep:
        """Return this step, or the step for the ONNX file."""
        if target.runs_tensorflow:
            return self
        return TensorFlowOnnx(**{**self.model_dump(), "to": "tensorflow-onnx"})


FORMAT = Format(
    backend="tensorflow",
    file="model.graphdef",
    loads_in_builds=False,
    other_files={"tensorflow_savedmodel": "model.savedmodel"},
    steps=(TensorFlowOnnx, GraphDef),
)
