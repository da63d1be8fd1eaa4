"""The coverage table of the docs, made from the tables of recorded answers.

python -m local_sagemaker.tests.recorded.coverage
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from local_sagemaker.tests.recorded.recording import Row, scenarios

FILE = Path(__file__).parents[2] / "docs" / "coverage.md"
COMMAND = "python -m local_sagemaker.tests.recorded.coverage"
_TITLE = f"""# What is held against the real AWS

Others have recorded answers of the real AWS, or assert them in tests that run on it.
`tests/recorded/` has their members as tables, and holds every answer of the local SageMaker against
them. A difference that is known is an exception with its reason; its test fails when the difference
disappears. No recording was found of InvokeEndpoint, of scaling activities of endpoints, or of
builds on CodeBuild's GPU.

Made by `{COMMAND}`.
"""


def rows() -> list[Row]:
    """Return the rows of all tables."""
    return [row for scenario in scenarios() for step in scenario.steps for row in step.rows]


def page() -> str:
    """Return the page."""
    every = rows()
    parts = (_sources(every), _operations(every), _exceptions(every))
    return "\n".join([_TITLE, *("\n".join([*part, ""]) for part in parts)])


def _sources(every: Sequence[Row]) -> Iterator[str]:
    yield from ("## Sources", "", "| repository | commit | rows held | exceptions |")
    yield "|---|---|---|---|"
    counts = Counter((row.source.repository, bool(row.exception)) for row in every)
    for repository, commit in sorted({(row.source.repository, row.source.commit) for row in every}):
        held, excepted = counts[repository, False], counts[repository, True]
        yield f"| {repository} | {commit[:9]} | {held} | {excepted} |"


def _operations(every: Sequence[Row]) -> Iterator[str]:
    yield from ("## Operations", "", "| operation | members | held | source |")
    yield "|---|---|---|---|"
    for operation in sorted({row.operation for row in every}):
        operation_rows = [row for row in every if row.operation == operation]
        members = sorted({name for row in operation_rows if (name := _top_level(row.member))})
        held = sum(not row.exception for row in operation_rows)
        sources = sorted({row.source.repository for row in operation_rows})
        yield (
            f"| `{operation}` | {', '.join(members)} | {held} of {len(operation_rows)} | "
            f"{', '.join(sources)} |"
        )


def _top_level(member: str) -> str:
    """Return the member of an answer that a JMESPath expression begins with."""
    name = re.sub(r"^(length|sort|keys|\()+\(", "", member)
    return re.split(r"[\[.(]", name)[0].strip("@)")


def _exceptions(every: Sequence[Row]) -> Iterator[str]:
    yield from ("## Known differences", "", "| operation | case | member | reason | recorded |")
    yield "|---|---|---|---|---|"
    for row in sorted((row for row in every if row.exception), key=lambda row: row.operation):
        member = row.member.replace("|", "\\|")
        recorded = row.source.date or "asserted on AWS"
        yield (
            f"| `{row.operation}` | {row.case} | `{member}` | {row.exception} | "
            f"{recorded}, {row.source.path} |"
        )


if __name__ == "__main__":
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(page())
