"""What happens to an endpoint, in one sentence."""

from release.review.differences import Change
from release.review.endpoints import DeclaredEndpoint, DeclaredModel, DeclaredVariant
from release.review.model_changes import ModelChange
from release.review.refusals import refusal, scaled_variants_that_change

PUBLISHES = "PUBLISH_METRICS"
OF_METRICS = (PUBLISHES, "ALLOW_METRICS", "CLOUDWATCH_LOG_GROUP", "METRIC_NAMESPACE")
"""What variables have in their names that publish Triton's metrics: `PublishedMetrics`."""

TWICE = {"SAGEMAKER_TRITON_OVERRIDE_PING_MODE": "SAGEMAKER_TRITON_PING_MODE"}
"""What another variable says, too."""

MOST_FILES = 2
"""More files than these are in the table of models alone."""


def sentence(
    before: DeclaredEndpoint | None,
    after: DeclaredEndpoint | None,
    models: list[ModelChange],
    changes: list[Change],
) -> str:
    """Return what a reviewer needs to know first; `models` and `changes` are the endpoint's own."""
    if after is None:
        assert before is not None
        return f"**{before.name}**: no longer in the app; its stack stays until it is deleted"
    if before is None:
        kinds = ", ".join(_instances(variant) for variant in after.variants.values())
        names = ", ".join(sorted(after.models)) or "no models"
        return f"**{after.name}**: new, Triton {after.release}; {kinds}; models: {names}"
    parts = [_how(before, after, changes), *_configuration(before, after)]
    if before.name == after.name:
        parts += [*_two_deploys(before, after), *_archives_of_a_move(before, after)]
    told = [_model(it) for it in models]
    return f"**{after.name}**: {'; '.join([*parts, 'models: ' + ', '.join(told)])}"


def _how(before: DeclaredEndpoint, after: DeclaredEndpoint, changes: list[Change]) -> str:
    if before.name != after.name:
        return f"created under this name, {before.name} deleted"
    if not changes:
        return "no change"
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
    return f"updated in place, {after.update}, {guard}"


def _two_deploys(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    """SageMaker gives no variant other instances while it is registered for scaling."""
    names = scaled_variants_that_change(before, after)
    if not names:
        return []
    one = "" if [*before.variants] == names else f" of {', '.join(names)}"
    return [f"make deliver deploys it twice, first as it is without the scaling{one}"]


def _archives_of_a_move(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    """What clients may be sent to must be wherever instances load from, before and after."""
    was, will_be = ({it.target for it in side.variants.values()} for side in (before, after))
    targets = {it for it in was | will_be if it}
    if was == will_be or len(targets) < len(was | will_be):
        return []  # it stays where it is, or would be hosted in another way
    wanted = [
        f"{model.name} {model.version} for {target}"
        for side in (before, after)
        for _, model in sorted(side.models.items())
        for target in sorted(targets - _builds_of(model, before, after))
    ]
    if not wanted:
        return ["make deliver refuses it while the catalog has a model published by hand"]
    return [
        "make deliver first builds what clients may be sent to meanwhile: "
        f"{', '.join(dict.fromkeys(wanted))}; it refuses while the catalog has a model published "
        "by hand"
    ]


def _builds_of(model: DeclaredModel, before: DeclaredEndpoint, after: DeclaredEndpoint) -> set[str]:
    """Return the targets for which a version of a model is built by one of the two commits."""
    sides = (side.models.get(model.name) for side in (before, after))
    return {target for it in sides if it and it.version == model.version for target in it.builds}


def _configuration(before: DeclaredEndpoint, after: DeclaredEndpoint) -> list[str]:
    said = []
    if before.release != after.release:
        said.append(f"Triton {before.release} -> {after.release}")
    for name in sorted(before.variants.keys() | after.variants.keys()):
        old, new = before.variants.get(name), after.variants.get(name)
        label = "" if {*before.variants, *after.variants} == {name} else f"{name}: "
        if old is None and new is not None:
            said.append(f"{label}new variant, {_instances(new)}")
        elif new is None:
            said.append(f"{label}variant removed")
        elif old is not None:
            said.append(label + _variant(old, new))
    if before.capture != after.capture:
        said.append(f"data capture: {after.capture}, before {before.capture}")
    if before.update != after.update:
        said.append(f"later updates: {after.update}, before {before.update}")
    return said


def _variant(old: DeclaredVariant, new: DeclaredVariant) -> str:
    kind = new.instance_type
    if old.instance_type != new.instance_type:
        kind = f"{old.instance_type} -> {new.instance_type}"
    said = [kind, _arrow(_range(old), _range(new)) + " instances"]
    if _range(old) == _range(new) and old.scaled and new.scaled and old.limits != new.limits:
        said.append(f"between schedules {old.limits} -> {new.limits} instances")
    if old.weight != new.weight:
        said.append(f"weight {old.weight:g} -> {new.weight:g}")
    if old.mode != new.mode:
        said.append(f"{old.mode} -> {new.mode}")
    for metric in sorted(old.targets.keys() | new.targets.keys()):
        was, now = old.targets.get(metric), new.targets.get(metric)
        if was != now:
            said.append(f"scales on {metric} at {_arrow(_number(was), _number(now))}")
        if was and now and old.cooldowns[metric] != new.cooldowns[metric]:
            said.append(f"cooldown of {metric} {old.cooldowns[metric]} -> {new.cooldowns[metric]}")
    said += [
        f"schedule {name}: {new.schedules.get(name, 'no longer')}"
        for name in _differing(old.schedules, new.schedules)
    ]
    if old.caches != new.caches and old.mode == new.mode:
        said.append(f"models {'stay' if new.caches else 'no longer stay'} in memory")
    if old.mode == new.mode:
        said += _environment(old.environment, new.environment)
    return ", ".join(said)


def _environment(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What the server and the models are told; many variables publish metrics, in one sentence."""
    differing = _differing(old, new)
    names = [it for it in differing if TWICE.get(it) not in differing]
    of_metrics = [it for it in names if any(word in it for word in OF_METRICS)]
    said = [
        f"{name.removeprefix('SAGEMAKER_TRITON_')} "
        f"{_arrow(old.get(name, 'default'), new.get(name, 'default'))}"
        for name in names
        if name not in of_metrics
    ]
    if of_metrics:
        published = any(PUBLISHES in it for it in new)
        said.append(f"Triton's own metrics {'published' if published else 'no longer published'}")
    return said


def _differing(old: dict[str, str], new: dict[str, str]) -> list[str]:
    return [it for it in sorted(old.keys() | new.keys()) if old.get(it) != new.get(it)]


def _instances(variant: DeclaredVariant) -> str:
    return f"{variant.instance_type}, {_range(variant)} instances"


def _range(variant: DeclaredVariant) -> str:
    if variant.minimum == variant.maximum:
        return str(variant.minimum)
    return f"{variant.minimum}-{variant.maximum}"


def _number(value: float | None) -> str:
    return "nothing" if value is None else f"{value:g}"


def _arrow(before: str, after: str) -> str:
    return after if before == after else f"{before} -> {after}"


def _model(change: ModelChange) -> str:
    because = ""
    if change.because:
        causes = [str(it) for it in change.because]
        few = len(causes) <= MOST_FILES
        because = f" ({', '.join(causes) if few else f'{len(causes)} files'})"
    breaking = ", **breaking for clients**" if change.breaking else ""
    return f"{change.model} {change.state}{because}{breaking}"
