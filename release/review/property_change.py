"""Types of the functions that describe a changed resource property."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from release.review.differences import Change
from release.review.values import arrow, text_of

if TYPE_CHECKING:
    from release.review.comparison import Comparison, Pair


class ChangeLine(NamedTuple):
    """A description of a change; `rule` names its danger, empty if it is none."""

    text: str
    rule: str = ""


@dataclass(frozen=True)
class PropertyChange:
    """A property of a resource before and after, None if it is absent.

    An empty `path` stands for the whole resource, with its properties as values. `item` is the name
    of the list item that has the property.
    """

    change: Change
    comparison: "Comparison"
    path: str
    item: str
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The path, with the name of the list item."""
        path = self.path.removesuffix("[]")
        return f"{path} of {self.item}" if self.item else path

    @property
    def sides(self) -> tuple[Any, Any]:
        """The whole resource, before and after."""
        return self.change.before, self.change.after

    @property
    def pair(self) -> "Pair | None":
        """The endpoint of the resource's stack, before and after."""
        return self.comparison.endpoints.get(self.change.stack)

    @property
    def arrow(self) -> str:
        """Both values as text, with an arrow between them."""
        return arrow(*self.texts)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as text."""
        before, after = (
            side.get(self.change.stack, {}).get("Resources", {}) for side in self.comparison.sides
        )
        return text_of(self.before, before), text_of(self.after, after)


Describer = Callable[[PropertyChange], Iterable[ChangeLine]]
