"""Dangers of endpoints, from the plans: removal, rejected updates, clients, capacity."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import platform_facts
from plan.document import PlannedEndpoint, PlannedVariant
from plan.updates import rejection_reason, scaled_variants_that_change
from platform_facts.rules.scaling import SCALING_TARGETS
from review.amounts import falls_sharply, rises_sharply
from review.comparison import Comparison, EndpointPair
from review.dangers.danger import Danger, digest
from review.endpoint_changes import limits_text
from review.model_changes import model_changes

TARGETS = {
    "components": "an inference component",
    "multi-model": "a TargetModel",
    "single-model": "no target",
}
"""Hosting -> what a call names (SageMaker runtime API reference, InvokeEndpoint)."""


RISE_OF_CLAIMS = 1.5
"""A max_rps that rises by more than this factor for equal instances is improbable; chosen for this
project."""


def removed_endpoints(comparison: Comparison) -> Iterator[Danger]:
    """An endpoint is removed from the app, or renamed.

    `cdk deploy` does not change stacks that are no longer in the app: they run, and cost money,
    until they are deleted. The endpoint's log group is deleted by this deployment, because it
    belongs to the models stack, which remains.
    """
    if not comparison.after:
        names = ", ".join(pair.name for pair in comparison.endpoints.values())
        yield Danger(
            comparison.stage,
            f"the stage {comparison.stage} is no longer in the app: its stacks run without updates "
            f"until they are deleted; then every invocation fails ({names})",
        )
        return
    for stack, pair in comparison.endpoints.items():
        if pair.before and pair.after is None:
            yield Danger(
                pair.name,
                f"the endpoint {pair.name} is no longer in the app: its stack runs without updates "
                "until it is deleted; then every invocation fails",
                explains=_is_log_deletion(comparison.stage, stack),
            )
        elif pair.before and pair.after and pair.before.settings.name != pair.name:
            old_name = pair.before.settings.name
            old, new = (TARGETS[side.settings.hosting] for side in (pair.before, pair.after))
            calls = f"; calls name {new}, before {old}" if old != new else ""
            yield Danger(
                old_name,
                f"the endpoint {old_name} is renamed to {pair.name}: a new endpoint is "
                f"created, the old one is deleted, and clients that use the old name fail{calls}",
            )


def _is_log_deletion(stage: str, stack: str) -> Callable[[Danger], bool]:
    """Return a function that tells whether a danger is the deletion of an endpoint's log group."""
    log = f"{stage}-models.Log-{stack.removeprefix(f'{stage}-')}/"
    return lambda danger: danger.rule == "replaced_resources" and danger.subject.startswith(log)


def rejected_updates(comparison: Comparison) -> Iterator[Danger]:
    """The update guard rejects the update of an endpoint, so later stacks are not deployed.

    Clients can name a variant (API reference, InvokeEndpoint, TargetVariant).
    """
    for before, after in _updated_endpoints(comparison):
        if reason := rejection_reason(before, after):
            old, new = before.settings, after.settings
            if removed_variants := sorted(old.variants.keys() - new.variants.keys()):
                reason += f"; clients with TargetVariant {', '.join(removed_variants)} would fail"
            yield Danger(
                new.name,
                f"the update of {new.name} is rejected before it begins: {reason}. Deploy a "
                "second endpoint, and move the clients",
            )


def _updated_endpoints(comparison: Comparison) -> list[tuple[PlannedEndpoint, PlannedEndpoint]]:
    return [] if comparison.is_moved else comparison.common_endpoints


def scaling_removed_during_update(comparison: Comparison) -> Iterator[Danger]:
    """The instance type of a scaled variant changes: that needs two deploys (docs/delivery.md)."""
    for before, after in _updated_endpoints(comparison):
        if names := scaled_variants_that_change(before.settings, after.settings):
            name = after.settings.name
            maximum = max(before.settings.variants[name].instances.maximum for name in names)
            yield Danger(
                f"{name}.{','.join(names)}",
                f"{', '.join(names)} of {name} is not scaled until its update ends: the "
                f"instance count does not grow to {maximum}. Use make deliver, which deploys twice:"
                " cdk deploy is rejected",
            )


def dropped_models(comparison: Comparison) -> Iterator[Danger]:
    """A model is removed from the catalog of an endpoint that is not removed."""
    for before, after in comparison.common_endpoints:
        for name in sorted(before.models.keys() - after.models.keys()):
            yield Danger(
                f"{before.settings.name}.{name}",
                f"{before.settings.name} no longer has {name} in its catalog: clients that invoke "
                "it fail (its archives are kept)",
            )


def broken_clients(comparison: Comparison) -> Iterator[Danger]:
    """The inputs or outputs of a model change so that existing clients fail."""
    for model in model_changes(comparison):
        for change in model.breaking_changes:
            yield Danger(
                f"{model.endpoint}.{model.model}.{digest(change)}",
                f"clients of {model.model} on {model.endpoint} fail: {change}",
                group=f"{model.endpoint}.{model.model}",
            )


def recorded_calls(comparison: Comparison) -> Iterator[Danger]:
    """Calls of a production endpoint are newly recorded: what callers send is then in S3."""
    for before, after in comparison.common_endpoints if comparison.is_production else ():
        sides: list[Any] = [side.settings.settings for side in (before, after)]
        old, capture = (side.get("data_capture") or {} for side in sides)
        kinds = [
            kind for kind in ("requests", "responses") if capture.get(kind) and not old.get(kind)
        ]
        if kinds:
            yield Danger(
                after.settings.name,
                f"{' and '.join(kinds)} of {after.settings.name} are newly recorded in S3: "
                f"{capture['percent']} % of them, for {capture['keep_days']} days",
                rule="new_capabilities",
            )


def split_sequences(comparison: Comparison) -> Iterator[Danger]:
    """A model with sequence batching newly has several instances or copies.

    "The sequence batcher ensures that all inference requests in a sequence get routed to the same
    model instance" of one Triton (Triton user guide, model_execution.html#stateful-models).
    SageMaker can send the requests of one sequence to different instances.
    """
    for pair in comparison.endpoints.values():
        old = _split_models(pair.before) if pair.before else {}
        for model, count in (_split_models(pair.after) if pair.after else {}).items():
            if model not in old:
                yield Danger(
                    f"{pair.name}.{model}",
                    f"{model} of {pair.name} uses sequence batching, but SageMaker sends the "
                    f"requests of a sequence to up to {count}, which do not share its state",
                )


def _split_models(endpoint: PlannedEndpoint) -> dict[str, str]:
    """Return stateful model -> its number of instances or copies, if there are several."""
    components = endpoint.settings.components.values()
    copies = {component.name: component.copies.maximum for component in components}
    instances = sum(variant.instances.maximum for variant in endpoint.settings.variants.values())
    counts = {
        name: (copies[component], "copies")
        if (component := model.catalog.inference_component) in copies
        else (instances, "instances")
        for name, model in endpoint.models.items()
        if model.is_stateful
    }
    return {name: f"{count} {unit}" for name, (count, unit) in counts.items() if count > 1}


def low_availability(comparison: Comparison) -> Iterator[Danger]:
    """The minimum of a variant in production falls below two instances.

    Times of a cold start are third-party measurements (sources in docs/hosting-modes.md).
    """
    for pair, name, old, variant in _variants(comparison):
        minimum = variant.instances.minimum
        if comparison.is_production and minimum < min(2, old.instances.minimum if old else 2):
            text = f"{pair.name} may run on 1 instance: if it fails, invocations fail"
            if minimum == 0:
                text = (
                    f"{pair.name} can scale in to zero: invocations then fail, and a cold start "
                    "takes minutes (published measurements: 5 and 9, docs/hosting-modes.md)"
                )
            yield Danger(f"{pair.name}.{name}", text)


def _variants(
    comparison: Comparison,
) -> Iterator[tuple[EndpointPair, str, PlannedVariant | None, PlannedVariant]]:
    """Yield the variants of all endpoints after the change, with their state before."""
    for pair in comparison.endpoints.values():
        old = pair.before.settings.variants if pair.before else {}
        for name, variant in (pair.after.settings.variants if pair.after else {}).items():
            yield pair, name, old.get(name), variant


def lost_scaling(comparison: Comparison) -> Iterator[Danger]:
    """In production, a variant is no longer scaled, or is scaled later, or a limit falls.

    A limit that falls to a third for ever is a danger, and a target five times as high.
    """
    yield from _weaker_targets(comparison)
    for pair, name, old, new in _variants(comparison):
        if not (comparison.is_production and old):
            continue
        before, after = old.instances, new.instances
        text = f"{limits_text(before)} -> {limits_text(after)} instances"
        if old.is_scaled and not new.is_scaled:
            yield Danger(
                f"{pair.name}.{name}", f"{name} of {pair.name} is no longer scaled: {text}"
            )
        elif falls_sharply(before.maximum, after.maximum) or falls_sharply(
            before.minimum, after.minimum
        ):
            yield Danger(f"{pair.name}.{name}", f"{name} of {pair.name} may have {text}")


def _weaker_targets(comparison: Comparison) -> Iterator[Danger]:
    """Yield targets of scaling that become five times as high, or are removed."""
    for before, after in comparison.common_endpoints if comparison.is_production else ():
        old, new = (_scaling_targets(side) for side in (before, after))
        changes = [
            f"{name}: {old[name]:g} -> {f'{new[name]:g}' if name in new else 'none'}"
            for name in old
            if ((name not in new and new) or _is_weaker(name, old[name], new.get(name, 0)))
        ]
        changes += _cooldowns(before, after)
        changes += _overloads(before, after, old, new)
        if changes:
            name = after.settings.name
            text = f"{name} scales out later, or no longer by this metric: {', '.join(changes)}"
            yield Danger(f"{name}.targets", text)


def _is_weaker(name: str, before: float, after: float) -> bool:
    """Return whether a target becomes five times as high, or leaves a third of the reserve."""
    if name.endswith("_percent"):
        return falls_sharply(100 - before, 100 - after)
    return rises_sharply(before, after)


def _overloads(
    before: PlannedEndpoint,
    after: PlannedEndpoint,
    old: dict[str, float],
    new: dict[str, float],
) -> Iterator[str]:
    """Yield a rate at which instances are added only when they are overloaded.

    `max_rps` is what one instance sustained in a load test, and scaling aims at half of it
    (stages/schema/scaling.py). The same instances with the same models sustain no more than before.
    """
    sustained, claimed = old.get("max_rps", 0), new.get("max_rps", 0)
    if claimed > RISE_OF_CLAIMS * sustained > 0 and _capacity(before) == _capacity(after):
        yield (
            f"instances are added at {claimed / 2:g} instead of {sustained / 2:g} requests a "
            f"second, and one sustains {sustained:g} by the max_rps before: neither its type nor "
            f"its models change (max_rps {sustained:g} -> {claimed:g})"
        )


def _capacity(endpoint: PlannedEndpoint) -> object:
    """Return what decides how many requests an instance sustains."""
    settings = endpoint.settings
    types = {name: variant.instance_types for name, variant in settings.variants.items()}
    return settings.hosting, types, endpoint.models, settings.settings.get("server")


def _cooldowns(before: PlannedEndpoint, after: PlannedEndpoint) -> Iterator[str]:
    """Yield the cooldowns that become five times as long, or scale in after a third of the time."""
    old: Any = before.settings.settings.get("scaling") or {}
    new: Any = after.settings.settings.get("scaling") or {}
    for name, is_weaker in (
        ("scale_out_cooldown_seconds", rises_sharply),
        ("scale_in_cooldown_seconds", falls_sharply),
    ):
        first, then = old.get(name), new.get(name)
        if isinstance(first, int) and isinstance(then, int) and is_weaker(first, then):
            yield f"{name}: {first} -> {then}"


def _scaling_targets(endpoint: PlannedEndpoint) -> dict[str, float]:
    scaling: Any = endpoint.settings.settings.get("scaling") or {}
    return {
        name: scaling[name]
        for name in SCALING_TARGETS
        if isinstance(scaling.get(name), int | float)
    }


def multiplied_capacity(comparison: Comparison) -> Iterator[Danger]:
    """The maximum number of instances, or their virtual CPUs, becomes five times as large."""
    for pair, name, old, new in _variants(comparison):
        if not old:
            continue
        text = f"{limits_text(old.instances)} -> {limits_text(new.instances)} instances"
        cpus = [side.instances.maximum * _cpus(side) for side in (old, new)]
        if rises_sharply(*cpus):
            text += f", with {cpus[1] / cpus[0]:.3g} times the virtual CPUs"
        elif not rises_sharply(old.instances.maximum, new.instances.maximum):
            continue
        yield Danger(f"{pair.name}.{name}", f"{name} of {pair.name} may have {text}")


def _cpus(variant: PlannedVariant) -> int:
    """Return the virtual CPUs of a variant's largest type; of an unknown type, 1."""
    counts = [1]
    for name in variant.instance_types:
        with suppress(platform_facts.UnknownFact):
            counts.append(platform_facts.instance_type(name).vcpus)
    return max(counts)


def shifted_traffic(comparison: Comparison) -> Iterator[Danger]:
    """In production, a variant immediately gets three times its share of the calls."""
    for pair, name, old, new in _variants(comparison):
        if not (comparison.is_production and old and pair.before and pair.after):
            continue
        totals = [sum(variant.weight for variant in side.settings.variants.values()) or 1
                  for side in (pair.before, pair.after)]  # fmt: skip
        before, after = 100 * old.weight / totals[0], 100 * new.weight / totals[1]
        if before and falls_sharply(after, before):
            yield Danger(
                f"{pair.name}.{name}",
                f"{name} of {pair.name} gets {before:.3g} % -> {after:.3g} % of the requests "
                "immediately, with the same number of instances",
            )
