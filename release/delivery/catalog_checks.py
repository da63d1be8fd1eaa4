"""The catalog before and after a deploy: entries that were deleted, or changed by hand."""

from collections.abc import Iterable

from release.delivery.catalog_differences import Difference, differences, restore
from release.delivery.deployment import StageDeployment
from release.delivery.errors import ChangedByHand
from release.delivery.stack_status import not_complete
from release.delivery.steps import say
from release.stage_resources import catalog_entries
from release.tree import Template


def check_before(deployment: StageDeployment) -> None:
    """Write deleted entries again, as the live templates declare them.

    CloudFormation compares templates: an entry that was changed by hand stays where the commit
    declares the same value as the live template. Raises `ChangedByHand` with all of those. Of a
    stack that is not as its template says, nobody knows which entries CloudFormation has written.
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
    stay = []
    for difference in _restored(deployment, changed):
        name = difference.parameter
        if deployed.get(name) == new.get(name):
            stay.append(difference)
        elif difference.declared:
            say(f"! {difference.text}: this delivery changes it to what the commit declares")
    _refuse(stay, "nothing was deployed, and a deploy would not change it")


def check_after(deployment: StageDeployment) -> None:
    """Write deleted entries again, and raise `ChangedByHand` with those that somebody changed.

    The commit's archives are built by now: no entry has to name a published copy.
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
    """Write the entries that a delivery may write; return the other differences."""
    repairable = [each for each in changed if each.repairable or each.is_published_copy]
    restore(deployment.session.client("ssm"), repairable)
    for difference in repairable:
        say(f"! {difference.text}: written again, as it was deployed")
    return [each for each in changed if each not in repairable]


def _refuse(changed: list[Difference], summary: str) -> None:
    """Say which models the commit does not have; raise `ChangedByHand` with the rest."""
    lines = []
    for difference in changed:
        if difference.declared is None:
            say(f"! {difference.text}: {difference.command}")
        else:
            lines += [difference.text, f"  {difference.command}"]
    if lines:
        keep = "To keep the catalog's version instead, deliver a commit that has it"
        raise ChangedByHand("\n  ".join([summary, *lines, keep]))
