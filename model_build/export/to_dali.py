"""A DALI pipeline, serialized."""

from pathlib import Path

from model_build.export import environments
from model_build.export.dali_definition import decode_on_gpu
from model_build.export.step_context import StepContext
from model_build.recipe import Dali

WORKER = Path(__file__).parent / "in_environment" / "dali_worker.py"


def export(step: Dali, *, to: Path, context: StepContext) -> None:
    """Write the pipeline `to`, on a CPU target as its source made it.

    Elsewhere images are decoded by GPU and CPU together, and what follows runs on the GPU. Neither
    needs a GPU to be written. Raises `BuildError` when the source fails.
    """
    environments.run_in(
        context.model_folder / step.environment,
        WORKER,
        {"source": str((context.model_folder / step.source).absolute()), "to": str(to)},
        progress=context.progress,
    )
    if context.target.processor == "cuda":
        to.write_bytes(decode_on_gpu(to.read_bytes()))
