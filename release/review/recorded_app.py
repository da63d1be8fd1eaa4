"""Run app.py of the working directory as a program, and say what it loaded: one argument, a file.

The file gets a JSON list of top-level modules, also where the app fails. A process of its own runs
this, as a program: nothing of this repository is imported here.
"""

import atexit
import json
import os
import runpy
import sys
from pathlib import Path


def write_loaded(to: Path) -> None:
    """Write the names of all top-level modules that were imported until now."""
    to.write_text(json.dumps(sorted({name.partition(".")[0] for name in sys.modules})))


if __name__ == "__main__":
    sys.path[0] = os.getcwd()  # noqa: PTH109 - as `python app.py` has it: not the folder of this file
    atexit.register(write_loaded, Path(sys.argv.pop()))
    runpy.run_path("app.py", run_name="__main__")
