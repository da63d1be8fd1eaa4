"""The catalog before and after a deploy: entries that were deleted, or changed by hand."""

from release.delivery import under_way
from release.delivery.catalog_differences import (
    Difference,
    Kind,
    differences,
    restore,
)
from release.delivery.deployment import Deployment
from release.delivery.errors import ChangedByHand
from release.delivery.steps import say
from release.stage_resources import catalog_entries


def check_before(deployment: Deployment) -> None:
    """Write deleted entries again, as the live templates declare them.

    CloudFormation compares templates: an entry that was changed by hand stays where the commit
    declares the same value as the live template. Raises `ChangedByHand` with all of those. Of a
    stack that is not as its template says, nobody knows which entries CloudFormation has written.
    """
    endpoints = deployment.assembly.endpoints
    cloudformation = deployment.session.client("cloudformation")
    failed = under_way.not_complete(cloudformation, (it.stack for it in endpoints))
    live = {
        it.short_name: template
        for it in endpoints
        if it.stack not in failed and (template := deployment.live(it))
    }
    new = {
        name: value
        for endpoint in endpoints
        for name, value in catalog_entries(deployment.new(endpoint)).items()
    }
    deployed = {
        name: value
        for template in live.values()
        for name, value in catalog_entries(template).items()
    }
    ssm = deployment.session.client("ssm")
    stay = []
    found = differences(ssm, deployment.assembly.stage, live)
    for difference in _restored(deployment, [it for it in found if not it.is_published_copy]):
        if difference.kind is Kind.FOREIGN:
            if difference.parameter not in new:  # else preflight has named it
                stay.append(difference)
        elif deployed[difference.parameter] == new.get(difference.parameter):
            stay.append(difference)
        else:
            say(f"! {difference.text}: this delivery changes it to what the commit declares")
    _refuse(stay, "nothing was deployed, and a deploy would not change it")


def check_after(deployment: Deployment) -> None:
    """Write deleted entries again, and raise `ChangedByHand` with those that somebody changed.

    The commit's archives are built by now: no entry has to name a published copy.
    """
    assembly = deployment.assembly
    new = {it.short_name: deployment.new(it) for it in assembly.endpoints}
    found = differences(deployment.session.client("ssm"), assembly.stage, new)
    _refuse(_restored(deployment, found), "everything is deployed, but for this")


def _restored(deployment: Deployment, found: list[Difference]) -> list[Difference]:
    """Write the entries that a delivery may write; return the other differences."""
    repairable = [it for it in found if it.repairable or it.is_published_copy]
    restore(deployment.session.client("ssm"), repairable)
    for difference in repairable:
        say(f"! {difference.text}: written again, as it was deployed")
    return [it for it in found if it not in repairable]


def _refuse(found: list[Difference], what: str) -> None:
    """Say what was published on purpose; raise `ChangedByHand` with the rest."""
    wrong = []
    for difference in found:
        if difference.kind is Kind.FOREIGN and difference.by_command:
            say(f"! {difference.text}")
        else:
            wrong.append(difference)
    if wrong:
        lines = [f"{it.text}\n    {it.command}" for it in wrong]
        keep = (
            "To keep the catalog's version instead, deliver a commit that has it: revert the "
            "model's change"
        )
        kept = [keep] if any(it.kind is Kind.OTHER for it in wrong) else []
        raise ChangedByHand("\n  ".join([what, *lines, *kept]))
