"""Say which changes of templates the review does not tell: `python -m tests.review_changes [MANY]`.

MANY seeds are tried, 3,000 unless it is said. Ends with 1 where a change is told by nothing and is
not in silent.yaml, or where something in that list covers none of the changes that were tried.
"""

import os
import sys
from collections import Counter

os.environ["CDK_VALIDATION"] = "false"  # as in conftest.py, before the CDK starts

from tests.review_changes.changes import change
from tests.review_changes.review_lines import review_lines
from tests.review_changes.silent import silent, without_reason


def main(many: int) -> int:
    """Try as many changes; return the exit code."""
    quiet = [each for each in map(change, range(many)) if not review_lines(each)]
    unlisted = without_reason(quiet)
    unused = [each for each in silent() if not any(map(each.covers, quiet))]
    for (kind, property_, how), count in sorted(
        Counter((each.type, each.path, each.kind) for each in quiet).items()
    ):
        print(f"{count:4} silent: {how} {kind} {property_}")
    print(f"{many} changes, {len(quiet)} silent")
    for title in unlisted:
        print(f"error: not in the list: {title}")
    for each in unused:
        print(f"error: covers nothing: {each.type} {each.property}")
    return 1 if unlisted or unused else 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 3000))
