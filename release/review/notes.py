"""What a reviewer should know, and nobody must acknowledge."""

from collections import Counter
from collections.abc import Iterator, Sequence

from release.review.comparison import Comparison
from release.review.differences import Change, StackDifference
from release.review.model_changes import ModelChange
from release.review.money import cost_changes

MOST_KINDS = 4
"""More types of resources than these are in the stack's difference alone."""


_DONE = {
    "WILL_CREATE": "created",
    "WILL_DESTROY": "deleted",
    "WILL_ORPHAN": "left behind",
    "WILL_UPDATE": "changed",
}
"""The CDK's word for what CloudFormation does -> ours; the others replace."""


def notes(comparison: Comparison, models: list[ModelChange]) -> Iterator[str]:
    """Yield a sentence for what is of the whole stage, and for each stack without an endpoint."""
    yield from _ceiling(comparison)
    for stack in comparison.stacks:
        if stack.stack not in comparison.endpoints:
            yield f"**{stack.stack}**: {'; '.join(_stack(stack, comparison, models))}"


def _ceiling(comparison: Comparison) -> Iterator[str]:
    was, most = comparison.was.max_monthly_usd, comparison.will_be.max_monthly_usd
    if was != most:
        said = ("none" if it is None else f"{it:,.0f}" for it in (was, most))
        yield f"**{comparison.stage}**: max_monthly_usd {' -> '.join(said)}"
    sides = [it.after for it in cost_changes(comparison) if it.after]
    unknown = sorted({name for it in sides for name in it.unknown})
    if most is not None and unknown:
        yield (
            f"**{comparison.stage}**: what is not priced is not held against max_monthly_usd: "
            f"{', '.join(unknown)}"
        )


def _stack(
    stack: StackDifference, comparison: Comparison, models: list[ModelChange]
) -> Iterator[str]:
    if stack.stack not in comparison.after:
        yield "no longer in the app; its stack stays until it is deleted"
        return
    if stack.stack not in comparison.before or comparison.moves:
        yield f"new, {counted(stack.changes)}"
        return
    projects = (it for it in stack.changes if it.type == "AWS::CodeBuild::Project")
    if any("Source" in it.properties for it in projects):
        yield _builder(models)
    yield counted(stack.changes)


def _builder(models: list[ModelChange]) -> str:
    """Say what a change of the builder's code, or of its packages, does to archives.

    An archive is named by its model's digest, which the builder's code is no part of: what is
    unchanged is not built again (model_build/digest.py, BUILD_FORMAT).
    """
    kept = sorted({it.model for it in models if it.state == "unchanged"})
    if not kept:
        return "the code that builds models changes, and every model is built by it"
    return (
        "the code that builds models changes: what is built from now on is built by it, and "
        f"{', '.join(kept)} {'stays as it is' if len(kept) == 1 else 'stay as they are'}; if it "
        "would make other archives of them, raise BUILD_FORMAT in model_build/digest.py"
    )


def counted(changes: Sequence[Change]) -> str:
    """Return how many resources of which types are created, changed, replaced or deleted."""
    kinds = Counter((it.type, _DONE.get(it.impact, "replaced")) for it in changes)
    if len(kinds) > MOST_KINDS:
        done = Counter(how for _, how in kinds.elements())
        return ", ".join(
            f"{count} resource{'' if count == 1 else 's'} {how}"
            for how, count in sorted(done.items())
        )
    return ", ".join(f"{count} {kind} {how}" for (kind, how), count in sorted(kinds.items()))
