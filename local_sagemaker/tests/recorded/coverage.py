"""The page of the site that compares the emulator with AWS, made from the recorded responses.

python -m local_sagemaker.tests.recorded.coverage
"""

import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence

from local_sagemaker.tests.recorded.recording import Row, scenarios

_TITLE = """# Comparison with recorded responses of AWS

Other projects have recorded responses of AWS, or assert them in tests that run on AWS.
`tests/recorded/` has the members of these responses as tables, and compares every response of the
local SageMaker with them. A known difference is an exception with its reason; its test fails when
the difference disappears. No recording was found of InvokeEndpoint, of scaling activities of
endpoints, or of builds on CodeBuild's GPU.
"""


def rows() -> list[Row]:
    """Return the rows of all tables."""
    return [row for scenario in scenarios() for step in scenario.steps for row in step.rows]


def page() -> str:
    """Return the text of the page."""
    all_rows = rows()
    sections = (_sources(all_rows), _operations(all_rows), _exceptions(all_rows))
    return "\n".join([_TITLE, *("\n".join([*section, ""]) for section in sections)])


def _sources(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("## Sources", "", "| repository | commit | matching rows | exceptions |")
    yield "|---|---|---|---|"
    counts = Counter((row.source.repository, bool(row.exception)) for row in rows)
    for repository, commit in sorted({(row.source.repository, row.source.commit) for row in rows}):
        matching, exceptions = counts[repository, False], counts[repository, True]
        yield f"| {repository} | {commit[:9]} | {matching} | {exceptions} |"


def _operations(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("## Operations", "", "| operation | members | matching | source |")
    yield "|---|---|---|---|"
    for operation in sorted({row.operation for row in rows}):
        operation_rows = [row for row in rows if row.operation == operation]
        members = sorted({name for row in operation_rows if (name := _top_level(row.member))})
        matching = sum(not row.exception for row in operation_rows)
        sources = sorted({row.source.repository for row in operation_rows})
        yield (
            f"| `{operation}` | {', '.join(members)} | {matching} of {len(operation_rows)} | "
            f"{', '.join(sources)} |"
        )


def _top_level(member: str) -> str:
    """Return the member of a response with which a JMESPath expression begins."""
    name = re.sub(r"^(length|sort|keys|\()+\(", "", member)
    return re.split(r"[\[.(]", name)[0].strip("@)")


def _exceptions(rows: Sequence[Row]) -> Iterator[str]:
    yield from ("## Known differences", "", "| operation | case | member | reason | recorded |")
    yield "|---|---|---|---|---|"
    for row in sorted((row for row in rows if row.exception), key=lambda row: row.operation):
        member = row.member.replace("|", "\\|")
        recorded = row.source.date or "asserted on AWS"
        yield (
            f"| `{row.operation}` | {row.case} | `{member}` | {row.exception} | "
            f"{recorded}, {row.source.path} |"
        )


if __name__ == "__main__":
    sys.stdout.write(page())
