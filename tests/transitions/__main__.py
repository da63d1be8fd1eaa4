"""Write tests/transitions/transitions.md: `python -m tests.transitions`."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["CDK_VALIDATION"] = "false"  # as in conftest.py, before the CDK starts

from tests.transitions.deployments import deployment_results
from tests.transitions.pairs import pairs
from tests.transitions.report import PAGE, report

if __name__ == "__main__":
    with TemporaryDirectory(prefix="transitions-") as folder:
        trial_results = deployment_results(list(pairs()), Path(folder))
    try:
        PAGE.write_text(report(trial_results))
    except ValueError as error:
        sys.exit(f"error: a transition has a wrong result (see pytest tests/transitions): {error}")
