"""What happens to each endpoint, and to each other stack, in one sentence."""

from collections import Counter
from collections.abc import Iterator, Sequence

from release.review.access.grants import in_words
from release.review.comparison import Comparison
from release.review.dangers.replaced_resources import NORMAL
from release.review.describers.updates import in_words as update_in_words
from release.review.differences import Change
from release.review.endpoint_changes import EndpointChange
from release.review.endpoints import DeclaredEndpoint, DeclaredModel, DeclaredVariant
from release.review.model_changes import ModelChange
from release.review.money import cost_changes
from release.review.refusals import refusal, scaled_variants_that_change

MOST = 12
"""More parts than these of one stack are in its difference alone."""

MOST_FILES = 2
"""More files than these are in the table of models alone."""

MOST_KINDS = 4
"""More types of resources than these are in the stack's difference alone."""

OBVIOUS = ("AWS::SageMaker::", "AWS::ApplicationAutoScaling::")
"""Types of resources that a variant has one of: those of an only variant are not named."""

COVERED = (
    *(*NORMAL, "AWS::ApplicationAutoScaling::ScalableTarget", "AWS::SageMaker::Endpoint"),
    *("AWS::ApplicationAutoScaling::ScalingPolicy", "AWS::SSM::Parameter", "Custom::TritonModel"),
)
"""Types in an endpoint's stack whose coming and going other parts of its sentence say."""

DONE = {"WILL_CREATE": "created", "WILL_DESTROY": "deleted", "WILL_ORPHAN": "left behind",
        "WILL_UPDATE": "changed"}  # fmt: skip
"""The CDK's word for what CloudFormation does -> ours; the others replace."""


def endpoint_summary(
    comparison: Comparison, endpoint: EndpointChange, models: Sequence[ModelChange]
) -> str:
    """Return what a reviewer needs to know first of an endpoint; `models` are its own."""
    before, after = endpoint.pair.before, endpoint.pair.after
    if after is None:
        return f"**{endpoint.name}**: no longer in the app; its stack stays until it is deleted"
    if before is None:
        kinds = ", ".join(_instances(variant) for variant in after.variants.values())
        names = ", ".join(sorted(after.models)) or "no models"
        return f"**{after.name}**: new, Triton {after.release}; {kinds}; models: {names}"
    if not endpoint.changes and before.name == after.name:
        return f"**{after.name}**: no change"
    parts = [_how(before, after, endpoint.changes)]
    if before.release != after.release:
        parts.append(f"Triton {before.release} -> {after.release}")
    if before.name == after.name:
        parts += [*_two_deploys(before, after), *_archives_of_a_move(before, after)]
    (stack,) = {change.stack for change in endpoint.changes} or {after.name}
    parts += details(comparison, stack)
    return f"**{after.name}**: {'; '.join([*parts, 'models: ' + ', '.join(map(_model, models))])}"


def notes(comparison: Comparison, models: Sequence[ModelChange]) -> Iterator[str]:
    """Yield a sentence for what is of the whole stage, and for each stack without an endpoint."""
    yield from _ceiling(comparison)
    before, after = comparison.sides
    changed = {item.stack: item.changes for item in comparison.stacks}
    for stack in sorted(before.keys() | after.keys()):
        if stack in comparison.endpoints or before.get(stack) == after.get(stack):
            continue
        changes = changed.get(stack, ())
        if stack not in after:
            parts = ["no longer in the app; its stack stays until it is deleted"]
        elif stack not in before or comparison.moves:
            parts = [f"new, {counted(changes)}"]
        else:
            projects = (change for change in changes if change.type == "AWS::CodeBuild::Project")
            builder = any("Source" in value.properties for value in projects)
            parts = [*([_builder(models)] if builder else ()), *details(comparison, stack)]
        yield f"**{stack}**: {'; '.join(parts or [counted(changes)])}"


def details(comparison: Comparison, stack: str) -> list[str]:
    """Return all that changes in a stack that stays, and is no danger; each thing once."""
    if comparison.moves:
        return []
    before, after = (side[stack] for side in comparison.sides)
    parts = [f"other {name}" for name in sorted((before.keys() | after.keys()) - {"Resources"})
             if before.get(name) != after.get(name)]  # fmt: skip
    texts: dict[str, list[Change]] = {}
    for line in comparison.described:
        if line.change.stack == stack and not line.rule:
            texts.setdefault(line.text, []).append(line.change)
    parts += [_with_resources(comparison, text, changes) for text, changes in texts.items()]
    for access in comparison.access:
        if access.stack == stack:
            parts += in_words(access.lost, "may no longer")
            parts += in_words(access.new_denials, "is now forbidden to")
    covered = COVERED if stack in comparison.endpoints else ()
    new_and_gone = [
        change
        for change in comparison.changes
        if change.stack == stack
        and not (change.before and change.after)
        and change.type not in covered
    ]
    if new_and_gone:
        parts.append(counted(new_and_gone))
    more = [f"{len(parts) - MOST} more in the difference"] if len(parts) > MOST else []
    return [*parts[:MOST], *more]


def counted(changes: Sequence[Change]) -> str:
    """Return how many resources of which types are created, changed, replaced or deleted."""
    kinds = Counter((change.type, DONE.get(change.impact, "replaced")) for change in changes)
    if len(kinds) > MOST_KINDS:
        done = Counter(how for _, how in kinds.elements())
        return ", ".join(f"{count} resource{'' if count == 1 else 's'} {how}"
                         for how, count in sorted(done.items()))  # fmt: skip
    return ", ".join(f"{count} {kind} {how}" for (kind, how), count in sorted(kinds.items()))


def _with_resources(comparison: Comparison, text: str, changes: list[Change]) -> str:
    first, pair = changes[0], comparison.endpoints.get(changes[0].stack)
    if len(changes) > 1:
        kinds = {change.type for change in changes}
        return f"{text} ({len(changes)} {kinds.pop() if len(kinds) == 1 else 'resources'})"
    if first.type.startswith(OBVIOUS) and pair and pair.after and len(pair.after.variants) == 1:
        return text
    return f"{first.path}: {text}"


def _how(before: DeclaredEndpoint, after: DeclaredEndpoint, changes: Sequence[Change]) -> str:
    if before.name != after.name:
        return f"created under this name, {before.name} deleted"
    # Tags change in place: nothing that serves is replaced for them.
    touched = {change.type for change in changes if set(change.properties) != {"Tags"}}
    if not touched:
        return "other tags, its instances stay as they are"
    if "AWS::SageMaker::EndpointConfig" not in touched:
        return "its instances stay as they are"
    if why := refusal(before, after):
        return f"**refused before it begins**: {why}"
    count = after.rollback_alarms
    guard = f"rollback on {count} alarm{'' if count == 1 else 's'}" if count else "no rollback"
    return f"updated in place, {update_in_words(after.deployment)}, {guard}"


def _two_deploys(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    """SageMaker gives no variant other instances while it is registered for scaling."""
    names = scaled_variants_that_change(before, after)
    if not names:
        return []
    one = "" if [*before.variants] == names else f" of {', '.join(names)}"
    return [f"make deliver deploys it twice, first as it is without the scaling{one}"]


def _archives_of_a_move(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    """What clients may be sent to must be wherever instances load from, before and after."""
    was, will_be = (
        {variant.target for variant in side.variants.values()} for side in (before, after)
    )
    targets = {item for item in was | will_be if item}
    if was == will_be or len(targets) < len(was | will_be):
        return []  # it stays where it is, or would be hosted in another way
    missing = [
        f"{model.name} {model.version} for {target}"
        for side in (before, after)
        for _, model in sorted(side.models.items())
        for target in sorted(targets - _builds_of(model, before, after))
    ]
    by_hand = "while the catalog has a model published by hand"
    if not missing:
        return [f"make deliver refuses it {by_hand}"]
    first = ", ".join(dict.fromkeys(missing))
    return [
        f"make deliver first builds what clients may be sent to meanwhile: {first}; it refuses "
        f"{by_hand}"
    ]


def _builds_of(model: DeclaredModel, before: DeclaredEndpoint, after: DeclaredEndpoint) -> set[str]:
    """Return the targets for which a version of a model is built by one of the two commits."""
    sides = (side.models.get(model.name) for side in (before, after))
    return {
        target for item in sides if item and item.version == model.version for target in item.builds
    }


def _instances(variant: DeclaredVariant) -> str:
    count = f"{variant.minimum}-{variant.maximum}"
    if variant.minimum == variant.maximum:
        count = str(variant.minimum)
    return f"{variant.instance_type}, {count} instances"


def _model(change: ModelChange) -> str:
    because = ""
    if change.because:
        causes = [str(item) for item in change.because]
        few = len(causes) <= MOST_FILES
        because = f" ({', '.join(causes) if few else f'{len(causes)} files'})"
    breaking = ", **breaking for clients**" if change.breaking else ""
    return f"{change.model} {change.state}{because}{breaking}"


def _ceiling(comparison: Comparison) -> Iterator[str]:
    was, most = comparison.was.max_monthly_usd, comparison.will_be.max_monthly_usd
    if was != most:
        texts = ("none" if item is None else f"{item:,.0f}" for item in (was, most))
        yield f"**{comparison.stage}**: max_monthly_usd {' -> '.join(texts)}"
    sides = [change.after for change in cost_changes(comparison) if change.after]
    unknown = sorted({name for side in sides for name in side.unknown})
    if most is not None and unknown:
        yield (
            f"**{comparison.stage}**: what is not priced is not held against max_monthly_usd: "
            f"{', '.join(unknown)}"
        )


def _builder(models: Sequence[ModelChange]) -> str:
    """Say what a change of the builder's code, or of its packages, does to archives.

    An archive is named by its model's digest, which the builder's code is no part of: what is
    unchanged is not built again (model_build/digest.py, BUILD_FORMAT).
    """
    kept = sorted({model.model for model in models if model.state == "unchanged"})
    if not kept:
        return "the code that builds models changes, and every model is built by it"
    return (
        "the code that builds models changes: what is built from now on is built by it, and "
        f"{', '.join(kept)} {'stays as it is' if len(kept) == 1 else 'stay as they are'}; if it "
        "would make other archives of them, raise BUILD_FORMAT in model_build/digest.py"
    )
