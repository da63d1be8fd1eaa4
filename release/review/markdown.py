"""The review as Markdown, for the comment on a pull request: templates/review.md.j2."""

from functools import partial
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined

from release.review import escaping
from release.review.report import Report
from release.review.shown import Shown

MOST = 60_000
"""Characters of everything: a comment on GitHub has 65,536."""


class Level(NamedTuple):
    """How much is shown: items of a list, of a folded list, and characters of texts."""

    items: int
    folded: int
    text: int
    difference: int


LEVELS = (
    Level(items=200, folded=100, text=2000, difference=8000),
    Level(items=200, folded=30, text=2000, difference=0),
    Level(items=100, folded=0, text=1000, difference=0),
    Level(items=40, folded=0, text=500, difference=0),
    Level(items=15, folded=0, text=200, difference=0),
    Level(items=5, folded=0, text=50, difference=0),
)
"""The first with which everything fits is taken; with the last one, anything does."""


def render(report: Report) -> str:
    """Return the whole comment: what matters first, and as much of the rest as it holds."""
    shown = Shown(report)
    for level in LEVELS:
        text = _render(shown, level)
        if len(text) > MOST:  # before it is translated, which makes it longer
            continue
        text = text.translate(escaping.REORDERING)
        if len(text) <= MOST:
            return text
    raise AssertionError("the last level holds any report")


def _render(shown: Shown, level: Level) -> str:
    environment = Environment(  # Markdown is escaped by `plain` and its like
        loader=PackageLoader("release.review"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name in ("code", "plain", "title"):
        environment.filters[name] = partial(getattr(escaping, name), longest=level.text)
    environment.filters["fence"] = escaping.fence
    template = environment.get_template("review.md.j2")
    text = template.render(shown=shown, report=shown.report, level=level, first=LEVELS[0])
    return f"{text.rstrip()}\n"
