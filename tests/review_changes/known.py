"""Write review/dangers/known_resources.json: `python -m tests.review_changes.known`."""

import json
import os

os.environ["CDK_VALIDATION"] = "false"  # as in conftest.py, before the CDK starts

from review.dangers.resources import KNOWN
from tests.review_changes.stages import written_resources

if __name__ == "__main__":
    KNOWN.write_text(json.dumps(written_resources(), indent=1) + "\n")
