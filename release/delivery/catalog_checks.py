"""Checks for catalog entries that were deleted or changed by hand, before and after a deploy."""

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
    commit and the live template have the same value. Raise `ChangedByHand` for such an entry.
    Stacks in a failed state are skipped: it is unknown which entries CloudFormation has written.
    """
    endpoints = deployment.assembly.endpoints
    cloudformation = deployment.session.client("cloudformation")
    failed = not_complete(cloudformation, (endpoint.stack for endpoint in endpoints))
    live = {
        endpoint.short_name: template
        for endpoint in endpoints
        if endpoint.stack not in failed and (template := deployment.live_template(endpoint))
    }
    deployed = _entries(live.values())
    new = _entries(deployment.new_template(endpoint) for endpoint in endpoints)
    ssm = deployment.session.client("ssm")
    changed = [
        difference
        for difference in differences(ssm, deployment.assembly.stage, live)
        if not difference.is_published_copy
    ]
    unrestored = []
    for difference in _restore(deployment, changed):
        name = difference.parameter
        if deployed.get(name) == new.get(name):
            unrestored.append(difference)
        elif difference.expected:
            say(f"! {difference.text}: this delivery changes it to the commit's version")
    _refuse(unrestored, "nothing was deployed, and a deploy would not change these entries")


def check_after(deployment: StageDeployment) -> None:
    """Restore deleted entries; raise `ChangedByHand` with entries that were changed by hand.

    The commit's archives exist now, so an entry that names a published copy is restored, too.
    """
    assembly = deployment.assembly
    new = {
        endpoint.short_name: deployment.new_template(endpoint) for endpoint in assembly.endpoints
    }
    changed = differences(deployment.session.client("ssm"), assembly.stage, new)
    _refuse(_restore(deployment, changed), "everything is deployed except these catalog entries")


def _entries(templates: Iterable[Template]) -> dict[str, str]:
    return {
        name: value for template in templates for name, value in catalog_entries(template).items()
    }


def _restore(deployment: StageDeployment, changed: list[Difference]) -> list[Difference]:
    """Restore the entries that a delivery may restore; return the remaining differences."""
    repairable = [entry for entry in changed if entry.repairable or entry.is_published_copy]
    restore(deployment.session.client("ssm"), repairable)
    for difference in repairable:
        say(f"! {difference.text}: restored to the deployed version")
    return [difference for difference in changed if difference not in repairable]


def _refuse(changed: list[Difference], summary: str) -> None:
    """Print models that the commit does not have; raise `ChangedByHand` for other differences."""
    lines = []
    for difference in changed:
        if difference.expected is None:
            say(f"! {difference.text}: {difference.command}")
        else:
            lines += [difference.text, f"  {difference.command}"]
    if lines:
        keep = "To keep the catalog's version instead, deliver a commit with that version"
        raise ChangedByHand("\n  ".join([summary, *lines, keep]))
