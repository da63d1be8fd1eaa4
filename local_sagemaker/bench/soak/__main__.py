"""Load and faults for an hour, after which the processes must be as they were.

A local SageMaker in a temporary folder serves more models than its instance holds, and one by
instances that are scaled; both are updated, archives replaced, servers and stubs killed, while
clients check each answer. Ends with 1 when no call is answered, when a failure has no cause, when
a measure has grown, or when something is left of deleted endpoints.
"""

import argparse
import os
import sys
from collections import Counter
from pathlib import Path
from tempfile import TemporaryDirectory

from local_sagemaker.bench.soak.processes import GROWTH, growth, left
from local_sagemaker.bench.soak.run import Run, run
from local_sagemaker.bench.soak.scene import MEMORY_MIB
from local_sagemaker.settings import MEMORY
from local_sagemaker.tests.support.running import local_sagemaker_in

LEAST_SAMPLES = 40
"""Of fewer, no growth is judged."""


def main(arguments: list[str]) -> int:
    """Run, print what came of it, and return the exit code."""
    parser = argparse.ArgumentParser(prog="local_sagemaker.bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=60, help="how long (60)")
    parser.add_argument("--seed", type=int, default=1, help="of the faults (1)")
    options = parser.parse_args(arguments)
    os.environ[MEMORY] = str(MEMORY_MIB)
    with (
        TemporaryDirectory(prefix="soak-") as scratch,
        local_sagemaker_in(Path(scratch, "local_sagemaker")) as local,
    ):
        seconds = options.minutes * 60
        done = run(local.folder, local.running, seconds=seconds, seed=options.seed)
    return 0 if _print(done) else 1


def _print(done: Run) -> bool:
    """Print what happened and the measures; return whether all is well."""
    print(f"calls: {_counts(done.record.calls)}")
    print(f"faults: {_counts(done.record.faults)}")
    problems = [f"unexplained: {problem}" for problem in done.record.unexplained]
    problems += [f"left: {rest}" for rest in left(done.before, done.after)]
    if len(done.samples) >= LEAST_SAMPLES:
        for name, (first, last) in growth(done.samples).items():
            print(f"{name:18} {first:8.1f} after warm-up {last:8.1f} at the end")
            if last - first > GROWTH[name]:
                problems.append(f"{name} grew by {last - first:.1f}")
    print("\n".join(problems))
    return bool(done.record.calls["answered"]) and not problems


def _counts(counts: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in sorted(counts.items()))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
