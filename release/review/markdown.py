"""The Markdown report for the comment on a pull request, from templates/review.md.j2."""

from functools import cache, partial
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

import platform_facts
from release.review import escaping
from release.review.findings import join_findings
from release.review.money import total_change
from release.review.report import ChangeReport
from release.review.summary import summary

MAX_CHARACTERS = 60_000
"""Maximum characters of a report: GitHub accepts 65,536 in a comment."""


class Level(NamedTuple):
    """Limits of a report.

    items, folded: items of a list, and of a collapsed list.
    text, difference: characters of a text, and of the output of `cdk diff`.
    """

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
"""Levels, the most detailed first. The first one that fits is used; the last one always fits."""


def render(report: ChangeReport) -> str:
    """Return the report at the first level that fits into `MAX_CHARACTERS`."""
    shown = {
        "report": report,
        "summary": summary(report),
        "prices": platform_facts.prices(),
        "findings": join_findings([report.findings, *(stage.findings for stage in report.stages)]),
        "acknowledged": join_findings(stage.acknowledged for stage in report.stages),
        "first": LEVELS[0],
    }
    for level in LEVELS:
        text = f"{_template(level.text).render(shown, level=level).rstrip()}\n"
        if len(text) > MAX_CHARACTERS:  # skip the translation, which makes it longer
            continue
        text = text.translate(escaping.REORDERING)
        if len(text) <= MAX_CHARACTERS:
            return text
    raise AssertionError("every report fits at the last level")


@cache
def _template(longest: int) -> Template:
    """Return the template that shortens texts to `longest` characters."""
    environment = Environment(  # `plain`, `code` and `title` escape Markdown
        loader=PackageLoader("release.review"),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
    )
    for name in ("code", "plain", "title"):
        environment.filters[name] = partial(getattr(escaping, name), longest=longest)
    environment.filters |= {"fence": escaping.fence, "total": total_change}
    return environment.get_template("review.md.j2")
