"""Property changes that the table of describers marks as dangers."""

from collections.abc import Iterator

from release.review.comparison import Comparison
from release.review.dangers.danger import Danger, digest


def changed_properties(comparison: Comparison) -> Iterator[Danger]:
    """A row of release/review/describer_table.py marks a property change as a danger.

    The same property of several resources of a type is one danger.
    """
    for line in comparison.descriptions:
        if line.rule:
            change = line.change
            is_endpoint = change.type == "AWS::SageMaker::Endpoint"
            resource = f"{change.type} {change.stack}/{change.path}"
            yield Danger(
                f"{change.stack}.{change.path}.{digest(line.text)}",
                f"{comparison.endpoint_in(change.stack) if is_endpoint else resource}: {line.text}",
                group=f"{change.type}.{line.path.partition('.')[0]}",
                rule=line.rule,
            )
