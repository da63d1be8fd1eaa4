"""The base of recipe steps whose source runs with its own packages."""

from pathlib import Path
from typing import Any, ClassVar

from model_build.export import environments
from model_build.export.step import RecipeStep, StepContext
from model_build.recipe_values import InnerPath, Source


class EnvironmentStep(RecipeStep):
    """An export by the script `worker` with the packages of the file `environment`."""

    file_keys: ClassVar[tuple[str, ...]] = ("source", "environment")
    requirements_key: ClassVar[str] = "environment"
    worker: ClassVar[Path]
    source: Source
    environment: InnerPath

    def run(self, output_path: Path, context: StepContext, **request: Any) -> None:
        """Run the worker, which writes the file. Raise `BuildError` if the source fails."""
        environments.run_script(
            context.model_folder / self.environment,
            self.worker,
            {
                "source": str((context.model_folder / self.source).absolute()),
                "weights": str(context.weights) if context.weights else None,
                "seed": context.seed,
                "output_path": str(output_path),
                **request,
            },
            progress=context.progress,
        )
