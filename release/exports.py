"""What templates export, and what they import from other stacks."""

from collections.abc import Iterator
from typing import Any

from release.tree import Template


def exports(template: Template) -> frozenset[str]:
    """Return the names that a stack exports, such as `prod-models:Bucket`."""
    outputs = template.get("Outputs", {}).values()
    return frozenset(output["Export"]["Name"] for output in outputs if "Export" in output)


def imports(template: Template) -> frozenset[str]:
    """Return the names that a stack imports."""
    return frozenset(_imports(template))


def exporter(name: str) -> str:
    """Return the stack that exports a name, as the CDK calls exports."""
    return name.partition(":")[0]


def _imports(template: Template) -> Iterator[str]:
    waiting: list[Any] = [template]
    while waiting:
        value = waiting.pop()
        if isinstance(value, dict):
            export = value.get("Fn::ImportValue")
            if isinstance(export, str):
                yield export
            else:
                waiting.extend(value.values())
        elif isinstance(value, list):
            waiting.extend(value)
