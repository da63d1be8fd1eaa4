"""The lines of a review about a change, without the collapsed differences of stacks."""

import re
from collections.abc import Iterator
from functools import cache

from review.comparison import Comparison
from review.dangers import dangers
from review.endpoint_changes import endpoint_changes
from review.model_changes import model_changes
from review.money import cost_changes
from review.template_changes import notes
from tests.review_changes.changes import RandomChange
from tests.review_changes.stages import synthesised

_GENERAL = re.compile(
    r"no change|models: .*|its instances are not replaced|updated in place, .*"
    r"|\d+ \S+ changed(, \d+ \S+ changed)*"
)
"""Clauses that do not name the change."""


def review_lines(change: RandomChange) -> set[str]:
    """Return the lines about a change; empty if only the collapsed difference shows it."""
    unchanged, plan = change.stage.templates, change.stage.plan
    comparison = Comparison(change.stage.name, unchanged, change.after, plan, plan)
    return set(_lines(comparison)) - _lines_without_change(change.stage.name)


@cache
def _lines_without_change(name: str) -> frozenset[str]:
    stage = synthesised(name)
    sides = stage.templates, stage.templates
    return frozenset(_lines(Comparison(name, *sides, stage.plan, stage.plan)))


def _lines(comparison: Comparison) -> Iterator[str]:
    yield from (danger.key for danger in dangers(comparison))
    models = model_changes(comparison)
    endpoints = endpoint_changes(comparison, models)
    changes = [(change.name, [*change.clauses]) for change in endpoints]
    changes += [(note.name, [*note.clauses]) for note in notes(comparison)]
    for name, clauses in changes:
        yield from (f"{name}: {text}" for text in clauses if not _GENERAL.fullmatch(text))
    yield from (f"{model.model} {model.state} {model.breaking_changes}" for model in models)
    yield from (str(change) for change in cost_changes(comparison) if change.before != change.after)
