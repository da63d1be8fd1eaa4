"""Measure, and write tools/bench/results/: `make bench`. `make docs` makes the page."""

import argparse
import importlib
import signal
import sys
from typing import NoReturn

from tools.bench import BENCHMARKS, turns


def main() -> None:
    """Run the named benchmarks, by default all."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", default=list(BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="smallest sizes, one iteration")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, _end)
    turns.become_subreaper()
    for name in options.names:
        with turns.write_results(name, quick=options.quick) as results:
            importlib.import_module(f"tools.bench.{name}").run(results)


def _end(number: int, _frame: object) -> NoReturn:
    """Leave all `with` statements, which end the local SageMaker and Triton."""
    signal.signal(number, signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
