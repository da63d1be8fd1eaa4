"""Differences between a stage's catalog and its templates."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from plan import parameters
from release.stack_catalog import catalog_entries
from release.templates import Template

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


def differences(
    ssm: "SSMClient", stage: str, templates: Mapping[str, Template]
) -> list[CatalogDifference]:
    """Return the differences between the catalog and `templates`: short name -> template."""
    return [
        difference
        for endpoint, template in templates.items()
        for difference in _endpoint_differences(ssm, stage, endpoint, catalog_entries(template))
    ]


def restore_entries(ssm: "SSMClient", differences: Iterable[CatalogDifference]) -> None:
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
    path = f"{parameters.ROOT}{stage}/{endpoint}"
    pages = ssm.get_paginator("get_parameters_by_path").paginate(Path=path)
    return {
        parameter["Name"]: parse_entry(parameter["Value"])
        for page in pages
        for parameter in page["Parameters"]
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
