"""The catalog of a stage: its differences from templates, and the repair of deleted entries."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from delivery.deploy import StageDeployment
from delivery.errors import ChangedByHand
from delivery.state import incomplete_stacks
from delivery.steps import say
from platform_facts.rules.catalog import ROOT as CATALOG_ROOT
from release.templates import Template, resources

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

Entry = dict[str, Any]
"""The value of a catalog parameter: `model`, `version`, `endpoint`, `target_model`, `signature`."""


@dataclass(frozen=True)
class CatalogDifference:
    """A model whose catalog entry differs from the template's.

    `template_entry` is None if no template has the model. `catalog_entry` is None if the catalog
    has no entry, and empty if clients cannot read the entry. `time` and `user` are those of the
    last change in the catalog. `command` removes the difference.
    """

    parameter: str
    template_entry: Entry | None
    catalog_entry: Entry | None
    command: str
    time: datetime | None = None
    user: str | None = None

    @property
    def model(self) -> str:
        """The model as `endpoint/model`."""
        return "/".join(self.parameter.split("/")[-2:])

    @property
    def is_repairable(self) -> bool:
        """Whether a delivery may overwrite the catalog's entry with the template's entry.

        True if the catalog's entry is missing or unreadable. Also true for a single-model endpoint,
        which serves the same archive regardless of the entry.
        """
        return self.template_entry is not None and (
            not self.catalog_entry or self.template_entry["target_model"] is None
        )

    @property
    def is_published_copy(self) -> bool:
        """Whether the catalog's entry names another archive of the same version.

        `tritonsm publish` writes such an entry. A delivery replaces it when the builder's archive
        exists.
        """
        return bool(
            self.template_entry
            and self.catalog_entry
            and self.template_entry["version"] == self.catalog_entry["version"]
        )

    @property
    def text(self) -> str:
        """The difference as a sentence, with the time and user of the last change."""
        if self.catalog_entry is None:
            return f"{self.model}: the catalog has no entry"
        changed = f"since {self.time:%F %T %Z}, by {self.user}"
        if not self.catalog_entry:
            return f"{self.model}: the catalog's entry is broken, {changed}"
        version = f"{self.model}: the catalog has version {self.catalog_entry['version']}"
        if self.template_entry is None:
            return f"{version}, {changed}, and the commit does not have this model"
        if self.is_published_copy:
            archive = self.catalog_entry["target_model"]
            return f"{version} in another archive, {archive}, {changed}"
        return f"{version} instead of {self.template_entry['version']}, {changed}"


def check_catalog_before(deployment: StageDeployment) -> None:
    """Restore deleted entries to the values of the live templates.

    CloudFormation compares templates: if the commit and the live template have the same value, it
    does not restore an entry that was changed by hand. Raise `ChangedByHand` for such an entry.
    Skip stacks in a failed state: it is unknown which entries CloudFormation has written.
    """
    endpoints, ssm = deployment.assembly.endpoints, deployment.session.client("ssm")
    cloudformation = deployment.session.client("cloudformation")
    stacks = [endpoint.stack for endpoint in endpoints.values()]
    failed_stacks = incomplete_stacks(cloudformation, stacks)
    live_templates = {
        name: template
        for name, endpoint in endpoints.items()
        if endpoint.stack not in failed_stacks and (template := deployment.live_template(endpoint))
    }
    live_entries = _all_entries(live_templates)
    new_entries = _all_entries(_new_templates(deployment))
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
    ssm, stage = deployment.session.client("ssm"), deployment.assembly.stage
    catalog_differences = differences(ssm, stage, _new_templates(deployment))
    remaining = _restore_repairable(deployment, catalog_differences)
    _refuse(remaining, "everything is deployed except these catalog entries")


def _new_templates(deployment: StageDeployment) -> dict[str, Template]:
    """Return short name -> template of each endpoint of the commit."""
    assembly = deployment.assembly
    return {
        name: assembly.templates[endpoint.stack] for name, endpoint in assembly.endpoints.items()
    }


def _all_entries(templates: Mapping[str, Template]) -> dict[str, str]:
    return {
        name: value
        for template in templates.values()
        for name, value in catalog_entries(template).items()
    }


def _restore_repairable(
    deployment: StageDeployment, catalog_differences: list[CatalogDifference]
) -> list[CatalogDifference]:
    """Restore the entries that a delivery may restore; return the remaining differences."""
    repairable = [
        entry for entry in catalog_differences if entry.is_repairable or entry.is_published_copy
    ]
    _restore_entries(deployment.session.client("ssm"), repairable)
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


def differences(
    ssm: "SSMClient", stage: str, templates: Mapping[str, Template]
) -> list[CatalogDifference]:
    """Return the differences between the catalog and `templates`: short name -> template."""
    return [
        difference
        for endpoint, template in templates.items()
        for difference in _endpoint_differences(ssm, stage, endpoint, catalog_entries(template))
    ]


def _restore_entries(ssm: "SSMClient", differences: Iterable[CatalogDifference]) -> None:
    """Restore entries to the templates' values: CloudFormation does not detect their change.

    Do not overwrite a missing entry that another caller creates at the same time.
    """
    for difference in differences:
        assert difference.template_entry
        ssm.put_parameter(
            Name=difference.parameter,
            Description=f"Current archive of {difference.template_entry['model']}",
            Value=json.dumps(difference.template_entry, separators=(",", ":")),
            Type="String",
            Overwrite=difference.catalog_entry is not None,
        )


def current_entries(ssm: "SSMClient", stage: str, endpoint: str) -> dict[str, Entry]:
    """Return an endpoint's entries by parameter name; an unreadable entry is empty."""
    path = f"{CATALOG_ROOT}{stage}/{endpoint}"
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=path)
    return {
        parameter["Name"]: parse_entry(parameter["Value"])
        for page in pages
        for parameter in page["Parameters"]
    }


def catalog_entries(template: Template) -> dict[str, str]:
    """Return name -> value of the catalog parameters in a template."""
    return {
        parameter["Name"]: parameter["Value"]
        for _, parameter in resources(template, "AWS::SSM::Parameter")
        if parameter.get("Name", "").startswith(CATALOG_ROOT)
    }


def parse_entry(value: str) -> Entry:
    """Return the entry in a parameter's value, empty if clients cannot read it."""
    try:
        entry = json.loads(value)
        texts = [entry[name] for name in ("model", "version", "endpoint")]
        archive, signature = entry["target_model"], entry["signature"]
    except (ValueError, KeyError, TypeError):
        return {}
    is_entry = all(isinstance(text, str) for text in texts) and isinstance(signature, dict)
    return entry if is_entry and isinstance(archive, str | None) else {}


def _endpoint_differences(
    ssm: "SSMClient", stage: str, endpoint: str, template_entries: Mapping[str, str]
) -> Iterator[CatalogDifference]:
    catalog_entries = current_entries(ssm, stage, endpoint)
    for name in sorted({*template_entries, *catalog_entries}):
        value, catalog_entry = template_entries.get(name), catalog_entries.get(name)
        template_entry = json.loads(value) if value else None
        if catalog_entry is None:
            yield CatalogDifference(name, template_entry, None, f"make deliver STAGE={stage}")
        elif template_entry is None or not _have_same_archive(template_entry, catalog_entry):
            yield _difference(ssm, name, template_entry, catalog_entry)


def _difference(
    ssm: "SSMClient", name: str, template_entry: Entry | None, catalog_entry: Entry
) -> CatalogDifference:
    """Return a difference with the time and user of the last change (GetParameterHistory)."""
    pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
    versions = [version for page in pages for version in page["Parameters"]]
    last = max(versions, key=lambda version: version["Version"])
    _, _, stage, endpoint, model = name.split("/")
    if template_entry is None:
        command = f"aws ssm delete-parameter --name {name}"
    elif not catalog_entry or template_entry["version"] == catalog_entry["version"]:
        command = f"make deliver STAGE={stage}"
    elif any(
        _have_same_archive(template_entry, parse_entry(version["Value"])) for version in versions
    ):
        version = template_entry["version"]
        command = f"tritonsm rollback {stage} {endpoint} {model} --to {version}"
    else:
        command = f"tritonsm publish {stage} {endpoint} models/{model}"
    return CatalogDifference(
        *(name, template_entry, catalog_entry, command),
        *(last["LastModifiedDate"].astimezone(UTC), last["LastModifiedUser"]),
    )


def _have_same_archive(first: Entry, second: Entry) -> bool:
    """Return whether clients use the same archive with both entries.

    A published copy is not the same archive.
    """
    fields = ("version", "endpoint", "target_model", "inference_component", "signature")
    return all(first.get(name) == second.get(name) for name in fields)
