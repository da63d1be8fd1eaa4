"""Which resources of a template a value refers to."""

from collections.abc import Iterator
from typing import Any


def references(value: Any) -> Iterator[str]:
    """Yield the logical ids that a value refers to by Ref or Fn::GetAtt."""
    match value:
        case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), _]}:
            yield name
        case dict():
            for part in value.values():
                yield from references(part)
        case list():
            for part in value:
                yield from references(part)
