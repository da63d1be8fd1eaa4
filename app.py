"""The CDK app: the stacks of one stage, selected by `cdk synth -c stage=prod`."""

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # before the imports: Ctrl-C prints no traceback

try:
    from aws_cdk import App
except ModuleNotFoundError as error:
    sys.exit(f"error: {sys.executable}: {error}: make install, then: . .venv/bin/activate")

from model_build import PYTHON_VARIABLE
from stacks import USER_ERRORS, synthesise

if __name__ == "__main__":
    # Stack traces contain temporary paths; without them, two syntheses are byte-identical.
    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    try:
        synthesise(app, app.node.try_get_context("stage") or "", os.environ.get(PYTHON_VARIABLE))
    except USER_ERRORS as error:
        sys.exit(f"error: {error}")
