"""Differences between a stage's catalog and its templates."""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from release import parameters
from release.stack_catalog import catalog_entries
from release.tree import Template

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

Entry = dict[str, Any]
"""The value of a catalog parameter: `model`, `version`, `endpoint`, `target_model`, `signature`."""


@dataclass(frozen=True)
class Difference:
    """A model whose catalog entry differs from the template's.

    `expected` is the template's entry, None if no template has the model. `current` is the
    catalog's entry, None if it is missing, empty if clients cannot read it. `time` and `user`
    describe its last change. `command` removes the difference.
    """

    parameter: str
    expected: Entry | None
    current: Entry | None
    command: str
    time: datetime | None = None
    user: str | None = None

    @property
    def model(self) -> str:
        """The model as `endpoint/model`."""
        return "/".join(self.parameter.split("/")[-2:])

    @property
    def repairable(self) -> bool:
        """Whether a delivery may restore the entry, because the current one is a mistake.

        It is missing or unreadable, or of a single-model endpoint, which serves the same archive
        regardless of its entry.
        """
        return self.expected is not None and (
            not self.current or self.expected["target_model"] is None
        )

    @property
    def is_published_copy(self) -> bool:
        """Whether the entry names another archive of the same version, such as a published one.

        A delivery replaces it with the builder's archive once that exists.
        """
        return bool(
            self.expected and self.current and self.expected["version"] == self.current["version"]
        )

    @property
    def text(self) -> str:
        """The difference as a sentence, with the time and user of the last change."""
        if self.current is None:
            return f"{self.model}: the catalog has no entry"
        changed = f"since {self.time:%F %T %Z}, by {self.user}"
        if not self.current:
            return f"{self.model}: the catalog's entry is broken, {changed}"
        version = f"{self.model}: the catalog has version {self.current['version']}"
        if self.expected is None:
            return f"{version}, {changed}, and the commit does not have this model"
        if self.is_published_copy:
            archive = self.current["target_model"]
            return f"{version} in another archive, {archive}, {changed}"
        return f"{version} instead of {self.expected['version']}, {changed}"


def differences(
    ssm: "SSMClient", stage: str, templates: Mapping[str, Template]
) -> list[Difference]:
    """Return the differences between the catalog and `templates`: short name -> template."""
    return [
        difference
        for endpoint, template in templates.items()
        for difference in _endpoint_differences(ssm, stage, endpoint, catalog_entries(template))
    ]


def restore(ssm: "SSMClient", repairable: Iterable[Difference]) -> None:
    """Restore entries to the templates' values: CloudFormation does not detect their change.

    A missing entry is not overwritten if another caller creates it at the same time.
    """
    for difference in repairable:
        assert difference.expected
        ssm.put_parameter(
            Name=difference.parameter,
            Description=f"Current archive of {difference.expected['model']}",
            Value=json.dumps(difference.expected, separators=(",", ":")),
            Type="String",
            Overwrite=difference.current is not None,
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
) -> Iterator[Difference]:
    all_current = current_entries(ssm, stage, endpoint)
    for name in sorted({*template_entries, *all_current}):
        value, current = template_entries.get(name), all_current.get(name)
        expected = json.loads(value) if value else None
        if current is None:
            yield Difference(name, expected, None, f"make deliver STAGE={stage}")
        elif expected is None or not _same_archive(expected, current):
            yield _difference(ssm, name, expected, current)


def _difference(ssm: "SSMClient", name: str, expected: Entry | None, current: Entry) -> Difference:
    """Return a difference with the time and user of the last change (GetParameterHistory)."""
    pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
    versions = [version for page in pages for version in page["Parameters"]]
    last = max(versions, key=lambda version: version["Version"])
    _, _, stage, endpoint, model = name.split("/")
    if expected is None:
        command = f"aws ssm delete-parameter --name {name}"
    elif not current or expected["version"] == current["version"]:
        command = f"make deliver STAGE={stage}"
    elif any(_same_archive(expected, parse_entry(version["Value"])) for version in versions):
        command = f"tritonsm rollback {stage} {endpoint} {model} --to {expected['version']}"
    else:
        command = f"tritonsm publish {stage} {endpoint} models/{model}"
    return Difference(
        *(name, expected, current, command),
        *(last["LastModifiedDate"].astimezone(UTC), last["LastModifiedUser"]),
    )


def _same_archive(one: Entry, other: Entry) -> bool:
    """Return whether two entries send clients to the same archive; a published copy is another."""
    compared = ("version", "endpoint", "target_model", "inference_component", "signature")
    return all(one.get(name) == other.get(name) for name in compared)
