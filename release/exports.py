"""What templates export, and what they import from other stacks."""

from collections.abc import Iterator
from typing import Any

from release.tree import Template


def exports(template: Template) -> frozenset[str]:
    """Return the names that a stack exports, such as `prod-models:Bucket`."""
    outputs = template.get("Outputs", {}).values()
    return frozenset(it["Export"]["Name"] for it in outputs if "Export" in it)


def imports(template: Template) -> frozenset[str]:
    """Return the names that a stack imports."""
    return frozenset(_imports(template))


def exporter(name: str) -> str:
    """Return the stack that exports a name, as the CDK calls exports."""
    return name.partition(":")[0]


def _imports(value: Any) -> Iterator[str]:
    match value:
        case {"Fn::ImportValue": str(export)}:
            yield export
        case dict():
            for it in value.values():
                yield from _imports(it)
        case list():
            for it in value:
                yield from _imports(it)
