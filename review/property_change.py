"""The argument and result types of describers: functions that describe a changed property."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from review.stack_differences import ResourceChange
from review.values import format_change, format_value

if TYPE_CHECKING:
    from review.comparison import Comparison
    from review.endpoints import TemplateEndpoint


class ChangeLine(NamedTuple):
    """A description of a change; `rule` is empty if the change is not a danger."""

    text: str
    rule: str = ""


@dataclass(frozen=True)
class PropertyChange:
    """A changed property of a resource.

    path: keys below `Properties`, empty for the whole resource.
    item: name of the list item that has the property, empty outside a list.
    before, after: the value, None if it is absent; for the whole resource, its properties.
    """

    resource_change: ResourceChange
    comparison: "Comparison"
    path: str
    item: str
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The path; for a property of a list item, with the name of the item."""
        path = self.path.removesuffix("[]")
        return f"{path} of {self.item}" if self.item else path

    @property
    def resources(self) -> tuple[Any, Any]:
        """The whole resource, before and after."""
        return self.resource_change.before, self.resource_change.after

    @property
    def endpoints(self) -> "tuple[TemplateEndpoint | None, TemplateEndpoint | None]":
        """The endpoint of the resource's stack before and after, None if it does not exist."""
        pair = self.comparison.endpoints.get(self.resource_change.stack)
        return (pair.before, pair.after) if pair else (None, None)

    @property
    def value_change(self) -> str:
        """Both values as text: BEFORE -> AFTER."""
        return format_change(*self.texts)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as text."""
        old_resources, resources = self.stack_resources
        return format_value(self.before, old_resources), format_value(self.after, resources)

    @property
    def stack_resources(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """The resources of the stack, before and after."""
        before, after = (
            side.get(self.resource_change.stack, {}).get("Resources", {})
            for side in self.comparison.templates
        )
        return before, after


Describer = Callable[[PropertyChange], Iterable[ChangeLine]]
