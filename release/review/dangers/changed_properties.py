"""Properties that the table of describers calls a danger."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.found import Found, digest


def changed_properties(comparison: Comparison) -> Iterator[Found]:
    """A property changes for the worse; release/review/table.py has the rule of each, and why.

    One property of several resources of a type is one danger.
    """
    for line in comparison.described:
        if line.rule:
            change = line.change
            where = f"{change.type} {change.stack}/{change.path}"
            if change.type == "AWS::SageMaker::Endpoint":
                where = comparison.endpoint_in(change.stack)
            yield Found(
                f"{change.stack}.{change.path}.{digest(line.text)}",
                f"{where}: {line.text}",
                group=f"{change.type}.{line.path.partition('.')[0]}",
                heading=f"{{count}} {change.type}: {line.text}",
                rule=line.rule,
            )
