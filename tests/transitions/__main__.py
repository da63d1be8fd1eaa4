"""Write docs/transitions.md: `python -m tests.transitions`."""

import os
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ["CDK_VALIDATION"] = "false"  # as in conftest.py, before the CDK starts

from tests.transitions.pairs import pairs
from tests.transitions.report import PAGE, report
from tests.transitions.ways import results

if __name__ == "__main__":
    with TemporaryDirectory(prefix="transitions-") as folder:
        trial_results = results(list(pairs()), Path(folder))
    try:
        PAGE.write_text(report(trial_results))
    except ValueError as error:
        sys.exit(
            f"error: a transition lost something: pytest tests/transitions says which: {error}"
        )
