"""The stacks of one stage: `cdk synth -c stage=prod`."""

import os
import signal
import sys

if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # Ctrl-C: no traceback, of imports neither

from aws_cdk import App

from model_build import PYTHON_VARIABLE
from stacks import USER_ERRORS, synthesise

if __name__ == "__main__":
    # Traces hold temporary paths: without them, two synths are byte-identical.
    app = App(context={"aws:cdk:disable-creation-stack-traces": True}, stack_traces=False)
    try:
        synthesise(app, app.node.try_get_context("stage") or "", os.environ.get(PYTHON_VARIABLE))
    except USER_ERRORS as error:
        sys.exit(f"error: {error}")
