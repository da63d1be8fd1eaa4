"""The review of a stage."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from plan.document import FILE, InvalidPlan, Plan
from release.assemblies import Synthesis, SynthesisedCheckout
from release.checkout import CheckoutError, NotSynthesised
from review.comparison import Comparison
from review.dangers import dangers
from review.dangers.danger import Danger
from review.endpoint_changes import EndpointChange, endpoint_changes
from review.model_changes import ModelChange, model_changes
from review.money import CostChange, VolumeCharge, cost_changes, volume_charges
from review.stack_differences import StackDifference
from review.template_changes import Note, notes


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """The changes of a stage.

    notes: changes of the whole stage and of stacks without an endpoint.
    """

    stage: str
    is_production: bool = False
    endpoints: tuple[EndpointChange, ...] = ()
    dangers: tuple[Danger, ...] = ()
    models: tuple[ModelChange, ...] = ()
    costs: tuple[CostChange, ...] = ()
    charges: tuple[VolumeCharge, ...] = ()
    stacks: tuple[StackDifference, ...] = ()
    notes: tuple[Note, ...] = ()


def review_stage(stage: str, base: SynthesisedCheckout, head: SynthesisedCheckout) -> StageReview:
    """Return the review of a stage.

    Raise `NotSynthesised` if the base or the head could not be synthesised, `InvalidPlan` if a plan
    cannot be read, `CheckoutError` if neither the base nor the head has the stage.
    """
    new, plan_after = _read(head, stage, SynthesisedCheckout.assembly)
    try:
        old, plan_before = _read(base, stage, SynthesisedCheckout.synth)
    except (InvalidPlan, NotSynthesised) as error:
        raise NotSynthesised(f"the stage in the base: {error}") from None
    if new.templates and plan_after is None:
        plan_after = plan_before  # a check has rejected the templates before the plan was written
    if not (plan_before or plan_after):
        head.stage(stage)  # raises
    comparison = Comparison(
        stage,
        old.templates,
        new.templates,
        plan_before,
        plan_after,
        settings=(old.settings, new.settings),
        acknowledged=(old.acknowledged, new.acknowledged),
        models=head.models,
        old_models=base.models,
    )
    models = tuple(model_changes(comparison))
    return StageReview(
        stage=stage,
        is_production=comparison.is_production,
        endpoints=tuple(endpoint_changes(comparison, models)),
        dangers=tuple(dangers(comparison)),
        models=models,
        costs=tuple(cost_changes(comparison)),
        charges=tuple(volume_charges(comparison, models)),
        stacks=tuple(comparison.stacks),
        notes=tuple(notes(comparison)),
    )


def _read(
    tree: SynthesisedCheckout, stage: str, read: Callable[[SynthesisedCheckout, str], Synthesis]
) -> tuple[Synthesis, Plan | None]:
    if stage not in tree.stages():
        return Synthesis({}), None
    synthesis = read(tree, stage)
    if tree.error(stage) and not Path(tree.assemblies, stage, FILE).exists():
        return synthesis, None
    plan = Plan.read(Path(tree.assemblies, stage))
    if plan.stage != stage:
        raise CheckoutError(f"{stage}: its assembly has the plan of {plan.stage}")
    return synthesis, plan
