"""Dangers: an endpoint removed, its update rejected, its capacity reduced."""

from collections.abc import Callable, Iterator
from pathlib import Path

from release.review.comparison import Comparison, Pair
from release.review.dangers.danger import Danger, digest
from release.review.endpoints import DeclaredEndpoint
from release.review.files.model_configuration import uses_sequence_batching
from release.review.model_changes import folder_of, model_changes
from release.review.money import cost_of
from release.review.refusals import refusal
from release.stack_endpoints import scaled_variants_that_change


def removed_endpoints(comparison: Comparison) -> Iterator[Danger]:
    """An endpoint leaves the app, or gets another name.

    `cdk deploy` leaves stacks alone that are no longer in the app: they run, and cost, until
    somebody deletes them. The endpoint's log group is deleted by this deployment, because it
    belongs to the models stack, which remains.
    """
    if not comparison.after:
        names = ", ".join(value.name for value in comparison.endpoints.values())
        yield Danger(
            comparison.stage,
            f"the stage {comparison.stage} is no longer in the app: its stacks run on, without "
            f"updates, until somebody deletes them; after that, every invocation fails ({names})",
        )
        return
    for stack, pair in comparison.endpoints.items():
        if pair.before and pair.after is None:
            yield Danger(
                pair.name,
                f"the endpoint {pair.name} is no longer in the app: its stack runs on, without "
                "updates, until it is deleted; after that, every invocation fails",
                explains=_is_log_of(comparison.stage, stack),
            )
        elif pair.before and pair.before.name != pair.name:
            yield Danger(
                pair.before.name,
                f"the endpoint {pair.before.name} becomes {pair.name}: a new one is created, "
                "the old one is deleted, and clients that invoke it by that name fail",
            )


def _is_log_of(stage: str, stack: str) -> Callable[[Danger], bool]:
    log = f"{stage}-models.Log-{stack.removeprefix(f'{stage}-')}/"
    return lambda danger: danger.rule == "replaced_resources" and danger.subject.startswith(log)


def refused_updates(comparison: Comparison) -> Iterator[Danger]:
    """SageMaker rejects the update of an endpoint, and later stacks are not deployed.

    A client may name a variant, too (API reference, InvokeEndpoint, TargetVariant).
    """
    if comparison.moves:
        return
    for before, after in comparison.kept:
        if why := refusal(before, after):
            gone = sorted(before.variants.keys() - after.variants.keys())
            named = f"; clients that name {', '.join(gone)} as TargetVariant would fail"
            yield Danger(
                after.name,
                f"the update of {after.name} is refused before it begins: {why}"
                f"{named if gone else ''}. Deploy a second endpoint, and move the clients",
            )


def scaling_suspended_during_update(comparison: Comparison) -> Iterator[Danger]:
    """The instances of a scaled variant change, which takes two deploys (docs/delivery.md)."""
    if comparison.moves:
        return
    for before, after in comparison.kept:
        variants = before.variants.values(), after.variants.values()
        names = scaled_variants_that_change(*variants)
        if names and not refusal(before, after):
            most = max(before.variants[name].maximum for name in names)
            yield Danger(
                f"{after.name}.{','.join(names)}",
                f"{', '.join(names)} of {after.name} is not scaled until its update ends: the "
                f"instance count stays the same and does not grow to {most}; cdk deploy is "
                "rejected, make deliver does it in two deploys",
            )


def dropped_models(comparison: Comparison) -> Iterator[Danger]:
    """A model leaves the catalog of an endpoint that stays."""
    for before, after in comparison.kept:
        for name in sorted(before.models.keys() - after.models.keys()):
            yield Danger(
                f"{before.name}.{name}",
                f"{before.name} no longer has {name} in its catalog: clients that invoke it fail "
                "(its archives stay)",
            )


def broken_clients(comparison: Comparison) -> Iterator[Danger]:
    """The inputs or outputs of a model change so that existing clients fail."""
    for model in model_changes(comparison):
        for line in model.breaking:
            yield Danger(
                f"{model.endpoint}.{model.model}.{digest(line)}",
                f"clients of {model.model} on {model.endpoint} fail: {line}",
                group=f"{model.endpoint}.{model.model}",
            )


def split_sequences(comparison: Comparison) -> Iterator[Danger]:
    """A model that keeps state between requests is on an endpoint of several instances.

    "The sequence batcher ensures that all inference requests in a sequence get routed to the same
    model instance" of one Triton (Triton user guide, model_execution.html#stateful-models), and
    SageMaker sends the requests of one sequence to any instance.
    """
    for pair in comparison.endpoints.values():
        split = [_split_models(side, folder) for side, folder in
                 zip((pair.before, pair.after), comparison.models, strict=True)]  # fmt: skip
        for model, (count, unit) in split[1].items():
            if model not in split[0]:
                yield Danger(
                    f"{pair.name}.{model}",
                    f"{model} of {pair.name} batches sequences, whose requests go to up to {count} "
                    f"{unit}: each has a part of their state",
                )


def _split_models(
    endpoint: DeclaredEndpoint | None, models: Path | None
) -> dict[str, tuple[int, str]]:
    """Return the models with sequence batching that several instances or copies may serve."""
    if endpoint is None or models is None:
        return {}
    instances = sum(variant.maximum for variant in endpoint.variants.values()), "instances"
    servers = {
        name: (component.maximum, "copies")
        if (component := endpoint.components.get(str(model.component)))
        else instances
        for name, model in endpoint.models.items()
    }
    return {
        model: (count, unit)
        for model, (count, unit) in servers.items()
        if count > 1 and uses_sequence_batching(folder_of(models, model))
    }


def low_minimum(comparison: Comparison) -> Iterator[Danger]:
    """A variant in production may have fewer than two instances, or none, and could not before.

    Times of a cold start are third-party measurements (sources in docs/hosting-modes.md).
    """
    if not comparison.production:
        return
    for pair in comparison.endpoints.values():
        for name, variant in pair.after.variants.items() if pair.after else ():
            old = pair.before.variants.get(name) if pair.before else None
            if variant.minimum < min(2, old.minimum if old else 2):
                text = f"{pair.name} may run on 1 instance: when it fails, nothing answers"
                if variant.minimum == 0:
                    text = (
                        f"{pair.name} can scale in to zero{_saved(comparison, pair)}: invocations "
                        "then fail, and a cold start takes minutes (published measurements: 5 and "
                        "9, docs/hosting-modes.md)"
                    )
                yield Danger(f"{pair.name}.{name}", text)


def _saved(comparison: Comparison, pair: Pair) -> str:
    """Return the monthly saving of zero instances, empty if a price is unknown."""
    costs = [
        cost_of(side, file.region).minimum if side else None
        for side, file in ((pair.before, comparison.was), (pair.after, comparison.will_be))
    ]
    if costs[0] is None or costs[1] is None:
        return ""
    return f", which saves up to {costs[0] - costs[1]:,.0f} USD a month"
