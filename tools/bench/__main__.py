"""Measure, and write tools/bench/results/ and docs/performance.md: `make bench`."""

import argparse
import importlib

from tools.bench import page, turns


def main() -> None:
    """Run the named benchmarks, by default all."""
    parser = argparse.ArgumentParser(prog="python -m tools.bench", description=__doc__)
    parser.add_argument("names", metavar="NAME", nargs="*", default=list(page.BENCHMARKS))
    parser.add_argument("--quick", action="store_true", help="smallest sizes, one iteration")
    options = parser.parse_args()
    turns.become_subreaper()
    try:
        for name in options.names:
            with turns.write_results(name, quick=options.quick) as results:
                importlib.import_module(f"tools.bench.{name}").run(results)
    finally:
        page.write_page()


if __name__ == "__main__":
    main()
