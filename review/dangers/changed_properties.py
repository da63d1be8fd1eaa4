"""Property changes that the describer table marks as dangers."""

from collections.abc import Iterator

from review.comparison import Comparison
from review.dangers.danger import Danger, digest


def changed_properties(comparison: Comparison) -> Iterator[Danger]:
    """A row of review/describer_table.py marks a property change as a danger.

    Changes of the same property of several resources of one type are one danger.
    """
    for description in comparison.descriptions:
        if description.rule:
            change, text = description.change, description.text
            resource = f"{change.type} {change.stack}/{change.path}"
            if change.type == "AWS::SageMaker::Endpoint":
                resource = comparison.endpoint_or_stack_name(change.stack)
            yield Danger(
                f"{change.stack}.{change.path}.{digest(text)}",
                f"{resource}: {text}",
                group=f"{change.type}.{description.path.partition('.')[0]}",
                rule=description.rule,
            )
