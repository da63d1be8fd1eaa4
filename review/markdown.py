"""The Markdown report for the comment on a pull request, from templates/review.md.j2."""

from functools import cache, partial
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

import platform_facts
from review import escaping
from review.money import total_change
from review.report import ChangeReport
from review.summary import NAMED_CHARGES, summary

MAX_CHARACTERS = 60_000
"""Maximum characters of a report: GitHub accepts 65,536 in a comment."""


class DetailLevel(NamedTuple):
    """Limits of a report: the items of a list and of a collapsed list, and characters.

    max_characters: maximum characters of a text.
    """

    max_items: int
    max_folded_items: int
    max_characters: int


LEVELS = (
    DetailLevel(200, 30, 2000),
    DetailLevel(100, 0, 1000),
    DetailLevel(40, 0, 500),
    DetailLevel(15, 0, 200),
    DetailLevel(5, 0, 50),
)
"""The most detailed level that fits into `MAX_CHARACTERS` is used; the last one always fits."""


def render(report: ChangeReport) -> str:
    """Return the report at the first level that fits into `MAX_CHARACTERS`."""
    variables = {
        "report": report,
        "summary": summary(report),
        "prices": platform_facts.prices(),
        "named_charges": NAMED_CHARGES,
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
    for name in ("code", "plain", "title"):
        environment.filters[name] = partial(getattr(escaping, name), longest=longest)
    environment.filters["total"] = total_change
    return environment.get_template("review.md.j2")
