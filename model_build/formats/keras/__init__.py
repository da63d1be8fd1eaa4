"""TensorFlow models: a GraphDef, or an ONNX file, of a Keras model."""

from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from model_build.export.environment_step import EnvironmentStep
from model_build.export.gate import Case, compare, read_answers
from model_build.export.step import RecipeStep, StepContext, StepOutput, Writer
from model_build.format import Format
from model_build.formats.onnx.export import answers
from model_build.recipe_values import Gate
from model_build.target import BuildTarget

BATCHES = (1, 2, 4)


class _Keras(EnvironmentStep):
    """`source` takes the folder of the checked weights, and returns a `keras.Model`."""

    worker: ClassVar[Path] = Path(__file__).with_name("worker.py")
    opset: Annotated[int, Field(ge=13)]
    gate: Gate

    def make(self, to: Path, context: StepContext) -> StepOutput:
        """Write the file, which is then run by ONNX Runtime, or TensorFlow in the environment."""
        file, form = context.scratch / f"{to.name}.npz", self.backend == "onnxruntime"
        self.run(to, context, onnx=form, opset=self.opset, answers=str(file), batches=BATCHES)
        shapes, tensors = read_answers(file)
        origin = tensors["origin"]
        converted = tensors.get("converted") or answers(to, tensors["input"], tuple(origin[0]))
        cases = map(Case, shapes, converted, origin)
        report = compare(cases, self.gate, converted=to.name, origin="Keras")
        return StepOutput([(f"{'ONNX' if form else 'GraphDef'} and Keras", report)])


class TensorFlowOnnx(_Keras):
    """An ONNX file from a Keras model."""

    backend: ClassVar[str] = "onnxruntime"
    to: Literal["tensorflow-onnx"]


class GraphDef(_Keras):
    """A frozen TensorFlow GraphDef.

    Releases without the TensorFlow backend, and CPU targets, are served the ONNX file instead.
    """

    backend: ClassVar[str] = "tensorflow"
    writer: ClassVar[Writer] = Writer("tensorflow", r"tensorflow([-_.]cpu)?")
    to: Literal["graphdef"]

    def for_target(self, target: BuildTarget) -> RecipeStep:
        """Return the step itself, or the one that makes the ONNX file."""
        if target.runs_tensorflow:
            return self
        return TensorFlowOnnx(**{**self.model_dump(), "to": "tensorflow-onnx"})


FORMAT = Format(
    backend="tensorflow",
    file="model.graphdef",
    other_files={"tensorflow_savedmodel": "model.savedmodel"},
    steps=(TensorFlowOnnx, GraphDef),
)
