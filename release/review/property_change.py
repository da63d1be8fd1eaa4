"""What a describer is given, and what it says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from release.review.differences import Change
from release.review.values import arrow, text_of

if TYPE_CHECKING:
    from release.review.comparison import Comparison, Pair


class ChangeLine(NamedTuple):
    """A text about one change; `rule` names the danger that it is, if it is one."""

    text: str
    rule: str = ""


@dataclass(frozen=True)
class PropertyChange:
    """A property of one resource before and after, None where it is absent.

    `path` is empty for the resource as a whole, whose values are its properties. `item` names the
    item of a list that the property is of.
    """

    change: Change
    comparison: "Comparison"
    path: str
    item: str
    before: Any
    after: Any

    @property
    def name(self) -> str:
        """The path, with the item that it is of."""
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
        """Both values, with an arrow between."""
        return arrow(*self.texts)

    @property
    def texts(self) -> tuple[str, str]:
        """Both values as text."""
        before, after = (
            side.get(self.change.stack, {}).get("Resources", {}) for side in self.comparison.sides
        )
        return text_of(self.before, before), text_of(self.after, after)


Describer = Callable[[PropertyChange], Iterable[ChangeLine]]
