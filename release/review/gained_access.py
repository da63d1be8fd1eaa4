"""Access that a change gives, and that nobody had before."""

from collections.abc import Iterator
from dataclasses import dataclass

from release.review.grants import Grant, denials, grants, paths
from release.tree import Template


@dataclass(frozen=True)
class Gained:
    """What the policies of a stack allow and did not before.

    `by_known` is of roles, or on resources, that were there; `by_new` the rest. `lost_denials` is
    what was forbidden before, on resources that stay.
    """

    stack: str
    by_known: set[Grant]
    by_new: set[Grant]
    lost_denials: set[Grant]


def gained(before: dict[str, Template], after: dict[str, Template]) -> Iterator[Gained]:
    """Yield what was gained, for every stack where something was."""
    for stack, template in sorted(after.items()):
        earlier = before.get(stack, {})
        if earlier == template:
            continue
        old = grants(earlier)
        new = {it for it in grants(template) if not any(known.covers(it) for known in old)}
        there, stays = paths(earlier), paths(template)
        who = {it.who for it in old} | there
        # Whom a policy lets in is judged by what it guards: a new role is new to its service, too.
        known = {it for it in new if (it.guarded in there if it.guarded else it.who in who)}
        lost = denials(earlier) - denials(template)
        lost = {it for it in lost if (it.guarded or it.who) in stays}
        if new or lost:
            yield Gained(stack, known, new - known, lost)
