"""List template changes that the review does not report: `python -m tests.review_changes [COUNT]`.

COUNT random changes are made, 3,000 by default. The exit code is 1 if a change is neither reported
nor listed in silent.yaml, or if an entry of silent.yaml covers none of the changes.
"""

import os
import sys
from collections import Counter

os.environ["CDK_VALIDATION"] = "false"  # as in conftest.py, before the CDK starts

from tests.review_changes.changes import random_change
from tests.review_changes.review_lines import review_lines
from tests.review_changes.silent import silent_changes, unlisted_changes


def main(count: int) -> int:
    """Make the changes; return the exit code."""
    unreported = [change for change in map(random_change, range(count)) if not review_lines(change)]
    unlisted = unlisted_changes(unreported)
    unused = [entry for entry in silent_changes() if not any(map(entry.covers, unreported))]
    totals = Counter((change.type, change.path, change.kind) for change in unreported)
    for (resource_type, path, kind), total in sorted(totals.items()):
        print(f"{total:4} not reported: {kind} {resource_type} {path}")
    print(f"{count} changes, {len(unreported)} not reported")
    for title in unlisted:
        print(f"error: neither reported nor in silent.yaml: {title}")
    for entry in unused:
        print(f"error: silent.yaml: covers no change: {entry.type} {entry.property}")
    return 1 if unlisted or unused else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000))
