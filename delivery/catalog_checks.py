"""Checks for catalog entries that were deleted or changed by hand, before and after a deploy."""

from collections.abc import Iterable

from delivery.catalog_differences import CatalogDifference, differences, restore_entries
from delivery.deployment import StageDeployment
from delivery.errors import ChangedByHand
from delivery.stack_status import incomplete_stacks
from delivery.steps import say
from release.stack_catalog import catalog_entries
from release.templates import Template


def check_catalog_before(deployment: StageDeployment) -> None:
    """Restore deleted entries to the values of the live templates.

    CloudFormation compares templates: if the commit and the live template have the same value, it
    does not restore an entry that was changed by hand. Raise `ChangedByHand` for such an entry.
    Skip stacks in a failed state: it is unknown which entries CloudFormation has written.
    """
    endpoints = deployment.assembly.endpoints
    cloudformation = deployment.session.client("cloudformation")
    failed_stacks = incomplete_stacks(cloudformation, (endpoint.stack for endpoint in endpoints))
    live_templates = {
        endpoint.short_name: template
        for endpoint in endpoints
        if endpoint.stack not in failed_stacks and (template := deployment.live_template(endpoint))
    }
    live_entries = _all_entries(live_templates.values())
    new_entries = _all_entries(deployment.new_template(endpoint) for endpoint in endpoints)
    ssm = deployment.session.client("ssm")
    unexpected = [
        difference
        for difference in differences(ssm, deployment.assembly.stage, live_templates)
        if not difference.is_published_copy
    ]
    unchanged_by_deploy = []
    for difference in _restore_repairable(deployment, unexpected):
        name = difference.parameter
        if live_entries.get(name) == new_entries.get(name):
            unchanged_by_deploy.append(difference)
        elif difference.template_entry:
            say(f"! {difference.text}: this delivery changes it to the commit's version")
    _refuse(
        unchanged_by_deploy, "nothing was deployed, and a deploy would not change these entries"
    )


def check_catalog_after(deployment: StageDeployment) -> None:
    """Restore deleted entries; raise `ChangedByHand` with entries that were changed by hand.

    After the deploy the commit's archives exist. Therefore an entry that names a published copy is
    restored too.
    """
    assembly = deployment.assembly
    templates = {
        endpoint.short_name: deployment.new_template(endpoint) for endpoint in assembly.endpoints
    }
    catalog_differences = differences(deployment.session.client("ssm"), assembly.stage, templates)
    remaining = _restore_repairable(deployment, catalog_differences)
    _refuse(remaining, "everything is deployed except these catalog entries")


def _all_entries(templates: Iterable[Template]) -> dict[str, str]:
    return {
        name: value for template in templates for name, value in catalog_entries(template).items()
    }


def _restore_repairable(
    deployment: StageDeployment, catalog_differences: list[CatalogDifference]
) -> list[CatalogDifference]:
    """Restore the entries that a delivery may restore; return the remaining differences."""
    repairable = [
        entry for entry in catalog_differences if entry.is_repairable or entry.is_published_copy
    ]
    restore_entries(deployment.session.client("ssm"), repairable)
    for difference in repairable:
        say(f"! {difference.text}: restored to the deployed version")
    return [difference for difference in catalog_differences if difference not in repairable]


def _refuse(catalog_differences: list[CatalogDifference], summary: str) -> None:
    """Print models that the commit does not have; raise `ChangedByHand` for other differences."""
    lines = []
    for difference in catalog_differences:
        if difference.template_entry is None:
            say(f"! {difference.text}: {difference.command}")
        else:
            lines += [difference.text, f"  {difference.command}"]
    if lines:
        advice = "To keep the catalog's version instead, deliver a commit with that version"
        raise ChangedByHand("\n  ".join([summary, *lines, advice]))
