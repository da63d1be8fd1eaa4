"""References between the resources of a stage, also across its stacks."""

from collections.abc import Iterator, Mapping
from typing import Any

from release.templates import Template

Place = tuple[str, str]
"""Stack and logical ID of a resource."""


class StageResources:
    """The resources of all stacks of a stage, before or after a change."""

    def __init__(self, templates: Mapping[str, Template]) -> None:
        self._templates = templates
        self.exports: dict[str, tuple[str, Any]] = {
            str(output["Export"].get("Name")): (stack, output.get("Value"))
            for stack, template in templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def of_stack(self, stack: str) -> dict[str, Any]:
        """Return the resources of a stack by logical ID."""
        resources: dict[str, Any] = self._templates.get(stack, {}).get("Resources", {})
        return resources

    def of_type(self, prefix: str) -> Iterator[tuple[Place, dict[str, Any]]]:
        """Yield place and properties of each resource whose type begins with a text."""
        for stack in self._templates:
            for logical_id, resource in self.of_stack(stack).items():
                if resource["Type"].startswith(prefix):
                    yield (stack, logical_id), resource.get("Properties", {})

    def find(self, stack: str, value: Any) -> tuple[Place, dict[str, Any]] | None:
        """Return place and properties of the resource to which a value refers, None without one."""
        match value:
            case {"Ref": str(name)} | {"Fn::GetAtt": [str(name), *_]}:
                resource = self.of_stack(stack).get(name)
                return resource and ((stack, name), resource.get("Properties", {}))
            case {"Fn::ImportValue": str(name)} if name in self.exports:
                exporting, exported = self.exports[name]
                is_chain = isinstance(exported, dict) and "Fn::ImportValue" in exported
                return None if is_chain else self.find(exporting, exported)
        return None
