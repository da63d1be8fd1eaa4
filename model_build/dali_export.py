"""A DALI pipeline, serialized."""

from pathlib import Path

from model_build import environments
from model_build.recipe import Dali
from model_build.workshop import Workshop

WORKER = Path(__file__).parent / "in_environment" / "dali_worker.py"


def export(step: Dali, *, to: Path, workshop: Workshop) -> None:
    """Write the pipeline `to`; images are decoded by GPU and CPU, or on a CPU target by it alone.

    Neither needs a GPU to be written. Raises `BuildError` when the source fails.
    """
    environments.run_in(
        workshop.model_folder / step.environment,
        WORKER,
        {
            "source": str((workshop.model_folder / step.source).absolute()),
            "decoder": "mixed" if workshop.target.processor == "cuda" else "cpu",
            "to": str(to),
        },
        progress=workshop.progress,
    )
