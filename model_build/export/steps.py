"""The files that a recipe names, made or taken from the exports that this machine keeps."""

from pathlib import Path

from model_build.export.export_cache import cached_export
from model_build.export.step import RecipeStep, StepContext, StepOutput


def make(step: RecipeStep, to: Path, context: StepContext) -> StepOutput:
    """Make the file or folder `to`. Raises `BuildError`, `GateFailed` among them."""
    if step.is_cacheable:
        made = StepOutput(cached_export(step, to, context, lambda: step.make(to, context).gates))
    else:
        made = step.make(to, context)
    for what, report in made.gates:
        context.progress(
            f"{to.name}: {what} differ by {report.max_absolute_difference:.1e} at most "
            f"({report.allowed:.0e} allowed)"
        )
    return made
