"""The picture of an endpoint: its variants and instances, and what becomes of each.

What changes is shown by a sign and a word, and by colour only beside them.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import quote

from release.review.dangers import Danger
from release.review.endpoint_changes import EndpointChange
from release.review.endpoints import DeclaredEndpoint, DeclaredVariant
from release.review.report import StageReview

SIGNS = {
    "new": "+",
    "removed": "\N{MINUS SIGN}",
    "renamed": "→",
    "changed": "~",
    "rebuilt": "~",
    "compiled again": "~",
    "unchanged": "=",
    "not compared": "?",
}
"""State of an endpoint, variant or model -> its sign."""

COLOURS = {
    "new": "new",
    "removed": "removed",
    "unchanged": "same",
    "not compared": "same",
}
"""State -> class of the style sheet; every other state is `changed`."""

MOST_SQUARES = 20
"""Instances that are drawn one by one, so that a phone has room for them; the number is beside."""

SIDE, STEP = 10, 13
"""Pixels of an instance's square, and from one to the next."""

Pair = tuple[str | None, str | None]
"""A text before and after, None where there is none."""


@dataclass(frozen=True)
class VariantPicture:
    """A variant as it is drawn; `rows` has its counts after, and before where they differ."""

    name: str
    colour: str
    share: Pair
    instance_types: Pair
    counts: Pair
    rows: list[tuple[str, DeclaredVariant]]

    @property
    def most(self) -> int:
        """The most instances of any row."""
        return max(variant.maximum for _, variant in self.rows)

    @property
    def width(self) -> int:
        """Pixels of the drawing."""
        return STEP * (min(self.most, MOST_SQUARES) + (self.most > MOST_SQUARES)) + 1


def colour(state: str) -> str:
    """Return the class that a state has in the style sheet."""
    return COLOURS.get(state, "changed")


def danger_id(danger: Danger) -> str:
    """Return the id of a danger: its key, without what a link may not have in it."""
    return f"danger/{quote(danger.key)}"


def dangers(stage: StageReview, endpoint: EndpointChange) -> list[Danger]:
    """Return the dangers of an endpoint that nobody has acknowledged."""
    begins = f"{endpoint.name}."
    return [it for it, by in stage.dangers if by is None and f"{it.subject}.".startswith(begins)]


def releases(endpoint: EndpointChange) -> Pair:
    """Return Triton's releases before and after."""
    before, after = endpoint.pair.before, endpoint.pair.after
    return (
        f"Triton {before.release}" if before else None,
        f"Triton {after.release}" if after else None,
    )


def variants(endpoint: EndpointChange) -> Iterator[VariantPicture]:
    """Yield the variants of both sides, by name."""
    before, after = endpoint.pair.before, endpoint.pair.after
    sides = [side.variants if side else {} for side in (before, after)]
    for name in sorted(sides[0].keys() | sides[1].keys()):
        old, new = sides[0].get(name), sides[1].get(name)
        rows = [("after", variant) for variant in (new or old,) if variant]
        if old and new and (old.minimum, old.maximum) != (new.minimum, new.maximum):
            rows.insert(0, ("before", old))
        yield VariantPicture(
            name,
            _colour_of_variant(endpoint, old, new),
            (_share(name, before), _share(name, after)),
            (old.instance_type if old else None, new.instance_type if new else None),
            (_range(old), _range(new)),
            rows,
        )


def _colour_of_variant(
    endpoint: EndpointChange, old: DeclaredVariant | None, new: DeclaredVariant | None
) -> str:
    """Return a variant's colour: the endpoint's own where it comes or goes with it."""
    if endpoint.state in COLOURS:
        return colour(endpoint.state)
    if old is None or new is None:
        return colour("new" if old is None else "removed")
    return colour("unchanged" if old == new else "changed")


def _share(name: str, endpoint: DeclaredEndpoint | None) -> str | None:
    """Return which part of the requests a variant gets."""
    if endpoint is None or name not in endpoint.variants:
        return None
    total = sum(variant.weight for variant in endpoint.variants.values())
    return f"{100 * endpoint.variants[name].weight / total:.3g} %" if total else "0 %"


def _range(variant: DeclaredVariant | None) -> str | None:
    if variant is None:
        return None
    if variant.minimum == variant.maximum:
        return str(variant.minimum)
    return f"{variant.minimum} to {variant.maximum}"
