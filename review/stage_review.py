"""The review of a stage."""

import ast
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from release.assemblies import Synthesis, SynthesisedTree
from release.checkout import NotSynthesised
from review import environments
from review.access.grants import grant_sentences
from review.comparison import Comparison
from review.dangers import dangers
from review.dangers.danger import Danger
from review.endpoint_changes import EndpointChange, endpoint_changes
from review.findings import NO_FINDINGS, FindingsChange, compare_findings
from review.measured_rates import measured_rates
from review.model_changes import ModelChange, model_changes
from review.money import CostChange, cost_changes
from review.stack_changes import notes
from review.stack_differences import StackDifference


@dataclass(frozen=True, kw_only=True)
class StageReview:
    """The changes of a stage.

    notes: sentences about the whole stage and about stacks without an endpoint.
    access: permissions of new roles and resources.
    findings: the change of cfn-lint's and checkov's findings in the templates.
    acknowledged: the change of cdk-nag findings that the app acknowledges.
    rates: measured request rates of the models.
    """

    stage: str
    endpoints: tuple[EndpointChange, ...] = ()
    dangers: tuple[Danger, ...] = ()
    models: tuple[ModelChange, ...] = ()
    costs: tuple[CostChange, ...] = ()
    rates: tuple[str, ...] = ()
    access: tuple[str, ...] = ()
    stacks: tuple[StackDifference, ...] = ()
    findings: FindingsChange = NO_FINDINGS
    acknowledged: FindingsChange = NO_FINDINGS
    notes: tuple[str, ...] = ()


def review_stage(
    stage: str, base: SynthesisedTree, head: SynthesisedTree, findings: FindingsChange = NO_FINDINGS
) -> StageReview:
    """Return the review of a stage; `findings` is the change of findings in its templates.

    Raises:
        NotSynthesised: the base or the head could not be synthesised.
        CheckoutError: neither the base nor the head has the stage.
    """
    new = _read_synthesis(head, stage)
    try:
        old = _read_synthesis(base, stage)
    except NotSynthesised as error:
        raise NotSynthesised(f"the stage in the base: {error}") from None
    trees = [tree for tree in (base, head) if stage in tree.stages()] or [head]
    file_before, file_after = trees[0].stage(stage), trees[-1].stage(stage)
    settings = environments.normalize_environment(
        old.settings, file_before, new.settings, file_after
    )
    comparison = Comparison(
        stage,
        old.templates,
        new.templates,
        file_before,
        file_after,
        settings=settings,
        findings=findings,
        acknowledged=compare_findings(old.acknowledged, new.acknowledged),
        base_strings=_string_constants(base.root),
        models=(base.models, head.models),
    )
    models = tuple(model_changes(comparison))
    return StageReview(
        stage=stage,
        endpoints=tuple(endpoint_changes(comparison, models)),
        dangers=tuple(dangers(comparison)),
        models=models,
        costs=tuple(cost_changes(comparison)),
        rates=tuple(measured_rates(comparison)),
        access=tuple(
            line for access in comparison.access for line in grant_sentences(access.grants_to_new)
        ),
        stacks=tuple(comparison.stacks),
        findings=findings,
        acknowledged=comparison.acknowledged,
        notes=tuple(notes(comparison)),
    )


def _read_synthesis(tree: SynthesisedTree, stage: str) -> Synthesis:
    return tree.synth(stage) if stage in tree.stages() else Synthesis({})


@cache
def _string_constants(root: Path) -> frozenset[str]:
    """Return the string constants in the Python code of a tree's constructs and stacks."""
    files = (path for folder in ("constructs", "stacks") for path in (root / folder).rglob("*.py"))
    return frozenset(
        node.value
        for path in files
        for node in ast.walk(ast.parse(path.read_bytes()))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    )
