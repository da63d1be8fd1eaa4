"""All templates of a stage together, with references resolved across stacks."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

Properties = dict[str, Any]

NAME_PROPERTIES = {"AWS::SNS::Topic": "TopicName", "AWS::Logs::LogGroup": "LogGroupName"}
"""Resource type -> property with the name that the ARN ends with."""


@dataclass(frozen=True)
class Resource:
    """A resource of a template; `id` is `stack.LogicalId`."""

    id: str
    kind: str
    properties: Properties
    depends_on: tuple[str, ...]

    @property
    def stack(self) -> str:
        """The name of the stack."""
        return self.id.partition(".")[0]


class Assembly:
    """The resources of several templates and the references between them.

    `templates` is by stack name; `account` is used for the pseudo parameter AWS::AccountId.
    """

    def __init__(
        self, templates: Mapping[str, Mapping[str, Any]], *, region: str, account: str
    ) -> None:
        self.templates = templates
        self.region, self.account = region, account
        self._pseudo = {"AWS::AccountId": account, "AWS::Partition": "aws", "AWS::Region": region}

    @cached_property
    def resources(self) -> dict[str, Resource]:
        """Resources by their ids."""
        return {
            f"{stack}.{name}": Resource(
                f"{stack}.{name}",
                resource["Type"],
                resource.get("Properties", {}),
                tuple(f"{stack}.{other}" for other in _list(resource.get("DependsOn", []))),
            )
            for stack, template in self.templates.items()
            for name, resource in template["Resources"].items()
        }

    def of_type(self, kind: str) -> Iterator[Resource]:
        """Yield the resources of a type."""
        return (resource for resource in self.resources.values() if resource.kind == kind)

    def text(self, value: Any, stack: str) -> str:
        """Return a value as text; a reference to a resource becomes `<stack.LogicalId>`."""
        match value:
            case str() | int() | float() | bool():
                return str(value)
            case {"Ref": str(name)} if name.startswith("AWS::"):
                return self._pseudo[name]
            case {"Ref": name} | {"Fn::GetAtt": [name, *_]}:
                return f"<{stack}.{name}>"
            case {"Fn::ImportValue": export}:
                exporter, exported = self.exports[self.text(export, stack)]
                return self.text(exported, exporter)
            case {"Fn::Join": [separator, parts]}:
                return str(separator).join(self.text(part, stack) for part in parts)
            case {"Fn::Sub": str(text)}:
                return re.sub(r"\$\{(AWS::\w+)\}", lambda match: self._pseudo[match[1]], text)
        return repr(value)

    def statements(self, document: Mapping[str, Any], stack: str) -> list[dict[str, Any]]:
        """Return the statements of a policy with every value as text."""
        return [self._plain(statement, stack) for statement in document["Statement"]]

    def role_statements(self, role: Resource) -> list[dict[str, Any]]:
        """Return the statements of all policies of a role."""
        documents = [
            (policy["PolicyDocument"], role.stack) for policy in role.properties.get("Policies", [])
        ]
        documents += [
            (resource.properties["PolicyDocument"], resource.stack)
            for kind in ("AWS::IAM::Policy", "AWS::IAM::ManagedPolicy")
            for resource in self.of_type(kind)
            if resource.stack == role.stack
            and {"Ref": role.id.partition(".")[2]} in resource.properties.get("Roles", [])
        ]
        return [
            statement
            for document, stack in documents
            for statement in self.statements(document, stack)
        ]

    def referenced(self, value: Any, stack: str) -> Resource | None:
        """Return the resource that a value refers to, by reference or by the name in its ARN."""
        text = self.text(value, stack)
        if result := re.match(r"<([^<>]+\.[A-Za-z0-9]+)>", text):
            return self.resources[result[1]]
        return next(
            (
                resource
                for resource in self.resources.values()
                if text.endswith(f":{_name(resource)}")
            ),
            None,
        )

    @cached_property
    def exports(self) -> dict[str, tuple[str, Any]]:
        """Export name -> (stack, exported value)."""
        return {
            output["Export"]["Name"]: (stack, output["Value"])
            for stack, template in self.templates.items()
            for output in template.get("Outputs", {}).values()
            if "Export" in output
        }

    def _plain(self, value: Any, stack: str) -> Any:
        match value:
            case list():
                return [self._plain(part, stack) for part in value]
            case dict() if not any(key == "Ref" or key.startswith("Fn::") for key in value):
                return {key: self._plain(part, stack) for key, part in value.items()}
        return self.text(value, stack)


def _name(resource: Resource) -> str:
    name = resource.properties.get(NAME_PROPERTIES.get(resource.kind, ""))
    return name if isinstance(name, str) else "<no name>"


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
