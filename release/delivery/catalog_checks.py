"""Catalog entries that were deleted or changed by hand, before and after a deploy."""

from collections.abc import Iterable

from release.delivery.catalog_differences import Difference, differences, restore
from release.delivery.deployment import StageDeployment
from release.delivery.errors import ChangedByHand
from release.delivery.stack_status import not_complete
from release.delivery.steps import say
from release.stack_catalog import catalog_entries
from release.tree import Template


def check_before(deployment: StageDeployment) -> None:
    """Restore deleted entries to the values of the live templates.

    CloudFormation compares templates: it does not restore an entry that was changed by hand if the
    commit declares the same value as the live template. Raise `ChangedByHand` with those. Stacks in
    a failed state are skipped: it is unknown which entries CloudFormation has written there.
    """
    endpoints = deployment.assembly.endpoints
    cloudformation = deployment.session.client("cloudformation")
    failed = not_complete(cloudformation, (endpoint.stack for endpoint in endpoints))
    live = {
        endpoint.short_name: template
        for endpoint in endpoints
        if endpoint.stack not in failed and (template := deployment.live(endpoint))
    }
    deployed = _declared(live.values())
    new = _declared(deployment.new(endpoint) for endpoint in endpoints)
    ssm = deployment.session.client("ssm")
    changed = [
        difference
        for difference in differences(ssm, deployment.assembly.stage, live)
        if not difference.is_published_copy
    ]
    unrestored = []
    for difference in _restored(deployment, changed):
        name = difference.parameter
        if deployed.get(name) == new.get(name):
            unrestored.append(difference)
        elif difference.declared:
            say(f"! {difference.text}: this delivery changes it to what the commit declares")
    _refuse(unrestored, "nothing was deployed, and a deploy would not change it")


def check_after(deployment: StageDeployment) -> None:
    """Restore deleted entries; raise `ChangedByHand` with entries that were changed by hand.

    The commit's archives exist by now: an entry that names a published copy is restored, too.
    """
    assembly = deployment.assembly
    new = {endpoint.short_name: deployment.new(endpoint) for endpoint in assembly.endpoints}
    changed = differences(deployment.session.client("ssm"), assembly.stage, new)
    _refuse(_restored(deployment, changed), "everything is deployed, but for this")


def _declared(templates: Iterable[Template]) -> dict[str, str]:
    return {
        name: value for template in templates for name, value in catalog_entries(template).items()
    }


def _restored(deployment: StageDeployment, changed: list[Difference]) -> list[Difference]:
    """Restore the entries that a delivery may restore; return the other differences."""
    repairable = [each for each in changed if each.repairable or each.is_published_copy]
    restore(deployment.session.client("ssm"), repairable)
    for difference in repairable:
        say(f"! {difference.text}: written again, as it was deployed")
    return [each for each in changed if each not in repairable]


def _refuse(changed: list[Difference], summary: str) -> None:
    """Print models that the commit does not have; raise `ChangedByHand` with other differences."""
    lines = []
    for difference in changed:
        if difference.declared is None:
            say(f"! {difference.text}: {difference.command}")
        else:
            lines += [difference.text, f"  {difference.command}"]
    if lines:
        keep = "To keep the catalog's version instead, deliver a commit that has it"
        raise ChangedByHand("\n  ".join([summary, *lines, keep]))
