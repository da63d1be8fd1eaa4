"""The Markdown report for the comment on a pull request, from templates/review.md.j2."""

from functools import cache, partial
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from review import escaping
from review.report import ChangeReport
from review.summary import summary

MAX_CHARACTERS = 60_000
"""Maximum characters of a report: GitHub accepts 65,536 in a comment."""


class DetailLevel(NamedTuple):
    """Maximum items of a list and of the collapsed list, and characters of an item."""

    max_items: int
    max_folded_items: int
    max_characters: int


LEVELS = (
    DetailLevel(200, 30, 1200),
    DetailLevel(40, 0, 500),
    DetailLevel(5, 0, 50),
)
"""The most detailed level that fits into `MAX_CHARACTERS` is used; the last one always fits."""


def render(report: ChangeReport) -> str:
    """Return the report at the first level that fits into `MAX_CHARACTERS`."""
    variables = {
        "report": report,
        "summary": summary(report),
        "first": LEVELS[0],
    }
    for level in LEVELS:
        text = f"{_template(level.max_characters).render(variables, level=level).rstrip()}\n"
        text = text.translate(escaping.REORDERING)
        if len(text) <= MAX_CHARACTERS:
            return text
    raise AssertionError("every report fits at the last level")


@cache
def _template(longest: int) -> Template:
    """Return the template that shortens texts to `longest` characters."""
    environment = Environment(  # `plain`, `code` and `title` escape Markdown
        loader=PackageLoader("review"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name in ("code", "plain"):
        environment.filters[name] = partial(getattr(escaping, name), longest=longest)
    return environment.get_template("review.md.j2")
