"""The argument and result types of describers: functions that describe a changed property."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from release.review.stack_differences import Change
from release.review.values import format_change, format_value

if TYPE_CHECKING:
    from release.review.comparison import Comparison, EndpointPair


class ChangeLine(NamedTuple):
    """A description of a change; `rule` is empty if the change is not a danger."""

    text: str
    rule: str = ""


@dataclass(frozen=True)
class PropertyChange:
    """A property of a resource before and after, None if it is absent.

    An empty `path` stands for the whole resource, with its properties as values. `item` is the name
    of the list item with the property, empty outside a list.
    """

    change: Change
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
        return self.change.before, self.change.after

    @property
    def pair(self) -> "EndpointPair | None":
        """The endpoint of the resource's stack, before and after."""
        return self.comparison.endpoints.get(self.change.stack)

    @property
    def value_change(self) -> str:
        """Both values as text: BEFORE -> AFTER."""
        return format_change(*self.texts)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as text."""
        before, after = (
            side.get(self.change.stack, {}).get("Resources", {})
            for side in self.comparison.templates
        )
        return format_value(self.before, before), format_value(self.after, after)


Describer = Callable[[PropertyChange], Iterable[ChangeLine]]
