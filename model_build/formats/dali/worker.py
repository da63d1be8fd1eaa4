"""A script that serializes a DALI pipeline, in an environment with DALI and without model_build.

It reads a JSON request from stdin: `source` (FILE.py:FUNCTION) and `output_path`.
"""

import json
import sys
from pathlib import Path
from typing import Any


def main(request: dict[str, str]) -> None:
    file, _, function = request["source"].rpartition(":")
    # DALI writes the file names of its sources into the pipeline: a fixed name makes the output
    # reproducible.
    module: dict[str, Any] = {"__name__": "pipeline"}
    exec(compile(Path(file).read_text(encoding="utf-8"), "pipeline.py", "exec"), module)
    pipeline = module[function]()
    if pipeline.seed in (None, -1):
        sys.exit("the pipeline has no seed: set one, or DALI writes a random seed into every build")
    Path(request["output_path"]).write_bytes(pipeline.serialize())


main(json.load(sys.stdin))
