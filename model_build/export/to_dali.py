"""A DALI pipeline, serialized."""

from pathlib import Path

from model_build.export import environments
from model_build.export.step_context import StepContext
from model_build.recipe import Dali

WORKER = Path(__file__).parent / "in_environment" / "dali_worker.py"


def export(step: Dali, *, to: Path, context: StepContext) -> None:
    """Write the pipeline `to`; images are decoded by GPU and CPU, or on a CPU target by it alone.

    Neither needs a GPU to be written. Raises `BuildError` when the source fails.
    """
    environments.run_in(
        context.model_folder / step.environment,
        WORKER,
        {
            "source": str((context.model_folder / step.source).absolute()),
            "decoder": "mixed" if context.target.processor == "cuda" else "cpu",
            "to": str(to),
        },
        progress=context.progress,
    )
