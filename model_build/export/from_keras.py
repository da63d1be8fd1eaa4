"""A Keras model to a TensorFlow GraphDef, or to ONNX."""

from pathlib import Path

import numpy as np

from model_build.export import environments, gate, to_onnx
from model_build.export.step_context import StepContext
from model_build.recipe import GraphDef, TensorFlowOnnx

WORKER = Path(__file__).parent / "in_environment" / "keras_worker.py"
BATCHES = (1, 2, 4)


def export(
    step: TensorFlowOnnx | GraphDef, *, to: Path, context: StepContext
) -> tuple[str, gate.GateReport]:
    """Write the file `to` and return how closely it answers like the Keras model.

    ONNX files are run by ONNX Runtime, GraphDefs by TensorFlow in the recipe's environment. Raises
    `BuildError` when the source fails and `GateFailed` as the other exports do.
    """
    answers = context.scratch / f"{to.name}.npz"
    environments.run_in(
        context.model_folder / step.environment,
        WORKER,
        {
            "source": str((context.model_folder / step.source).absolute()),
            "weights": str(context.weights) if context.weights else None,
            "seed": context.seed,
            "form": "onnx" if isinstance(step, TensorFlowOnnx) else "graphdef",
            "opset": step.opset,
            "to": str(to),
            "answers": str(answers),
            "batches": BATCHES,
        },
        progress=context.progress,
    )
    with np.load(answers) as kept:
        arrays = dict(kept)
    differences = gate.Differences(to.name, "Keras")
    for case, batch in enumerate(BATCHES):
        expected = _part(arrays, f"{case}/output/")
        if isinstance(step, TensorFlowOnnx):
            inputs = _part(arrays, f"{case}/input/")
            (answer,) = to_onnx.answers(to, [inputs], tuple(expected))
        else:
            answer = _part(arrays, f"{case}/frozen/")
        for name, theirs in expected.items():
            differences.add(answer[name], theirs, output=name, inputs=f"batch {batch}")
    report = differences.report(step.gate, shapes=[{"batch": batch} for batch in BATCHES])
    return f"{'ONNX' if isinstance(step, TensorFlowOnnx) else 'GraphDef'} and Keras", report


def _part(arrays: dict[str, gate.Array], prefix: str) -> dict[str, gate.Array]:
    return {
        name.removeprefix(prefix): array
        for name, array in arrays.items()
        if name.startswith(prefix)
    }
