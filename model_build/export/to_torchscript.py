"""PyTorch to TorchScript, for Triton's pytorch_libtorch platform."""

import json
from pathlib import Path

import numpy as np

from model_build.export import environments, gate, torch_model
from model_build.export.step_context import StepContext
from model_build.recipe import TorchScript

WORKER = Path(__file__).parent / "in_environment" / "torchscript_worker.py"


def export(step: TorchScript, *, to: Path, context: StepContext) -> tuple[str, gate.GateReport]:
    """Trace the module into the file `to` and return how closely that answers like the module.

    Both run in the recipe's environment, whose torch writes the file. The bytes depend on the
    weights and on the pinned packages alone. Raises `BuildError` when the source fails and
    `GateFailed` as the other exports do.
    """
    answers = context.scratch / f"{to.name}.npz"
    environments.run_in(
        context.model_folder / step.environment,
        WORKER,
        {
            "source": str((context.model_folder / step.source).absolute()),
            "torch_model": torch_model.__file__,
            "weights": str(context.weights) if context.weights else None,
            "seed": context.seed,
            "input_seed": gate.SEED,
            "fractions": gate.FRACTIONS,
            "to": str(to),
            "answers": str(answers),
        },
        progress=context.progress,
    )
    with np.load(answers) as kept:
        arrays = dict(kept)
    shapes = json.loads(str(arrays.pop("shapes")))
    differences = gate.Differences(to.name, "PyTorch")
    for name, theirs in arrays.items():
        case, form, output = name.split("/", 2)
        if form == "module":
            ours = arrays[f"{case}/file/{output}"]
            differences.add(ours, theirs, output=output, inputs=str(shapes[int(case)]))
    return "TorchScript and PyTorch", differences.report(step.gate, shapes=shapes)
