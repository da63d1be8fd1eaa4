"""The CDK app: the stacks of one stage, selected by `cdk synth -c stage=prod`.

`python app.py FOLDER STAGE...` writes the cloud assembly of each stage to FOLDER/STAGE, or the
reason why it has none to FOLDER/STAGE.error. One process writes all, since the CDK loads slowly.
"""

import gc
import os
import signal
import sys
import traceback
from pathlib import Path

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # before the imports: Ctrl-C prints no traceback
    gc.disable()  # the objects of thousands of models live until the end: a fifth of the time

try:
    from aws_cdk import App
except ModuleNotFoundError as error:
    sys.exit(f"error: {sys.executable}: {error}: make install, then: . .venv/bin/activate")

from model_build import PYTHON_VARIABLE
from stacks import USER_ERRORS, synthesise


def write_assembly(stage: str | None = None, folder: str | None = None) -> None:
    """Write the assembly of a stage, by default of the context's, to a folder, or the CLI's."""
    # Stack traces contain temporary paths; without them, two syntheses are byte-identical.
    context = {"aws:cdk:disable-creation-stack-traces": True}
    app = App(context=context, outdir=folder, stack_traces=False)
    name = stage or app.node.try_get_context("stage") or ""
    synthesise(app, name, os.environ.get(PYTHON_VARIABLE))


def write_assemblies(folder: str, *stages: str) -> None:
    """Write the assembly of each stage, or its error: the other stages are written nevertheless."""
    for stage in stages:
        try:
            write_assembly(stage, str(Path(folder, stage)))
        except USER_ERRORS as error:
            Path(folder, f"{stage}.error").write_text(str(error))
        except Exception:
            Path(folder, f"{stage}.error").write_text(traceback.format_exc())


if __name__ == "__main__":
    if len(sys.argv) > 1:
        write_assemblies(*sys.argv[1:])
    else:
        try:
            write_assembly()
        except USER_ERRORS as error:
            sys.exit(f"error: {error}")
