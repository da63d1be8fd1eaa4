"""An hour of load and faults, after which memory, handles, threads and processes are as they were.

A local SageMaker in a temporary folder serves more models than its instance holds, and one by
instances that are scaled; both are updated, their archives replaced, their servers and stubs
killed, while clients ask and check each answer. Ends with 1 when no call is answered, when an
answer is neither right nor explained by what was done, when a measure has grown, or when something
is left once the endpoints are deleted. What is done when follows from the seed.
"""

import argparse
import json
import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from rich.console import Console
from rich.table import Table

from local_sagemaker.bench.soak.flatness import NOT_JUDGED, trend
from local_sagemaker.bench.soak.processes import MEASURES
from local_sagemaker.bench.soak.run import Run, run
from local_sagemaker.bench.soak.scene import MEMORY_MIB
from local_sagemaker.bench.soak.warm_up import fill_logs
from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.running import local_sagemaker_in

LEAST_SAMPLES = 40
"""Of fewer, no trend is told."""


def main(arguments: list[str]) -> int:
    """Run, print what came of it, and return the exit code."""
    options = _options(arguments)
    os.environ[MEMORY] = str(MEMORY_MIB)
    with (
        TemporaryDirectory(prefix="soak-") as scratch,
        local_sagemaker_in(Path(scratch, "local_sagemaker")) as aws,
    ):
        fill_logs()
        done = run(
            aws.folder,
            aws.running,
            seconds=options.minutes * 60,
            seed=options.seed,
            pause=options.pause,
        )
    if options.json:
        options.json.write_text(json.dumps(_told(done)))
    return 0 if _print(done) else 1


def _options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="local_sagemaker.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (60)")
    parser.add_argument("--seed", type=int, default=1, help="what is done when (1)")
    parser.add_argument(
        "--pause", type=float, default=1, help="seconds between two calls of a client (1)"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all samples there")
    return parser.parse_args(arguments)


def _told(done: Run) -> dict[str, object]:
    return {
        "calls": done.record.calls,
        "done": done.record.done,
        "unexplained": done.record.unexplained,
        "left": done.left,
        "before": done.before,
        "after": done.after,
        "samples": [{"second": second, **found} for second, found in done.samples],
    }


def _print(done: Run) -> bool:
    """Print what happened and the measures; return whether all is well."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(f"calls: {_counted(done.record.calls)}")
    console.print(f"done: {_counted(done.record.done)}")
    well = _print_measures(done, console)
    for what in done.record.unexplained:
        console.print(f"unexplained, at {what}", style="red", markup=False)
    for what in done.left:
        console.print(f"left when the endpoints were deleted: {what}", style="red", markup=False)
    answered = bool(done.record.calls["answered"])
    return well and answered and not done.record.unexplained and not done.left


def _print_measures(done: Run, console: Console) -> bool:
    if len(done.samples) < LEAST_SAMPLES:
        console.print(f"{len(done.samples)} samples: too few to tell what grows")
        return True
    table = Table("measure", "unit", *("after warm-up", "at the end", "an hour", "verdict"))
    for column in table.columns:
        column.no_wrap = True
    for column in table.columns[2:5]:
        column.justify = "right"
    seconds = [second for second, _ in done.samples]
    well = True
    for measure in MEASURES:
        values = [found[measure.name] for _, found in done.samples]
        found = trend(seconds, values, measure.tolerance or NOT_JUDGED)
        verdict = "flat" if found.flat else f"grew by {found.growth:.1f}"
        table.add_row(
            measure.name,
            measure.unit,
            f"{found.warm:.1f}",
            f"{found.end:.1f}",
            f"{found.hourly:+.1f}",
            verdict if measure.tolerance else "comes and goes",
        )
        well = well and found.flat
    console.print(table)
    return well


def _counted(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} {what}" for what, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
