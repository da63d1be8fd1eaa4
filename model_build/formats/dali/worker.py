"""Serializes a DALI pipeline, in an environment that has DALI.

It is run as a script, knows nothing of the package around it, and reads its order from standard
input: `source` (FILE.py:FUNCTION) and `to`.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main(order: dict[str, str]) -> None:
    file, _, function = order["source"].rpartition(":")
    # DALI writes the file names of its sources into the pipeline: a fixed one makes equal bytes.
    module: dict[str, Any] = {"__name__": "pipeline"}
    exec(compile(Path(file).read_text(encoding="utf-8"), "pipeline.py", "exec"), module)
    pipeline = module[function]()
    if pipeline.seed in (None, -1):
        sys.exit("give the pipeline a seed: without one DALI writes another into every file")
    Path(order["to"]).write_bytes(pipeline.serialize())


main(json.load(sys.stdin))
