"""Execution of recipe steps with the export cache."""

from pathlib import Path

from model_build.export.export_cache import cached_export
from model_build.export.step import RecipeStep, StepContext, StepOutput


def run_step(step: RecipeStep, to: Path, context: StepContext) -> StepOutput:
    """Write the file or folder `to`. Raise `BuildError`."""
    if step.is_cacheable:
        output = StepOutput(
            cached_export(step, to, context, lambda: step.generate(to, context).gates)
        )
    else:
        output = step.generate(to, context)
    for title, report in output.gates:
        context.progress(
            f"{to.name}: {title} differ by {report.max_absolute_difference:.1e} at most "
            f"({report.allowed:.0e} allowed)"
        )
    return output
