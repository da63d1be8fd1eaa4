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

    `declared` is the template's entry, None if no template has the model. `current` is the
    catalog's entry, None if it is missing, empty if clients cannot read it. `time` and `user` are
    those of its last change. `command` removes the difference.
    """

    parameter: str
    declared: Entry | None
    current: Entry | None
    command: str
    time: datetime | None = None
    user: str | None = None

    @property
    def model(self) -> str:
        """Return `endpoint/model`."""
        return "/".join(self.parameter.split("/")[-2:])

    @property
    def repairable(self) -> bool:
        """Whether a delivery may restore the entry: no person can intend the current one.

        A single-model endpoint serves one archive, regardless of its entry.
        """
        return self.declared is not None and (
            not self.current or self.declared["target_model"] is None
        )

    @property
    def is_published_copy(self) -> bool:
        """Whether the entry names another archive of the declared version, such as a published one.

        A delivery replaces it with the builder's archive once that exists.
        """
        return bool(
            self.declared and self.current and self.declared["version"] == self.current["version"]
        )

    @property
    def text(self) -> str:
        """Return the difference, with the time and user of the last change."""
        if self.current is None:
            return f"{self.model}: the catalog has no entry"
        changed = f"since {self.time:%F %T %Z}, by {self.user}"
        if not self.current:
            return f"{self.model}: the catalog's entry is broken, {changed}"
        version = f"{self.model}: the catalog has version {self.current['version']}"
        if self.declared is None:
            return f"{version}, {changed}, and the commit does not have this model"
        if self.is_published_copy:
            archive = self.current["target_model"]
            return f"{version} in another form (archive {archive}), {changed}"
        return f"{version} instead of {self.declared['version']}, {changed}"


def differences(
    ssm: "SSMClient", stage: str, templates: Mapping[str, Template]
) -> list[Difference]:
    """Return the differences of the catalog from `templates`, by short name of the endpoint."""
    return [
        difference
        for endpoint, template in templates.items()
        for difference in _of_endpoint(ssm, stage, endpoint, catalog_entries(template))
    ]


def restore(ssm: "SSMClient", repairable: Iterable[Difference]) -> None:
    """Restore entries to their declared values: CloudFormation does not detect their change.

    A missing entry that somebody else creates at the same time is not overwritten.
    """
    for difference in repairable:
        assert difference.declared
        ssm.put_parameter(
            Name=difference.parameter,
            Description=f"Current archive of {difference.declared['model']}",
            Value=json.dumps(difference.declared, separators=(",", ":")),
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
    """Return the entry in a parameter's value; empty if clients cannot use it."""
    try:
        entry = json.loads(value)
        texts = [entry[name] for name in ("model", "version", "endpoint")]
        archive, signature = entry["target_model"], entry["signature"]
    except (ValueError, KeyError, TypeError):
        return {}
    is_entry = all(isinstance(text, str) for text in texts) and isinstance(signature, dict)
    return entry if is_entry and isinstance(archive, str | None) else {}


def _of_endpoint(
    ssm: "SSMClient", stage: str, endpoint: str, template_entries: Mapping[str, str]
) -> Iterator[Difference]:
    all_current = current_entries(ssm, stage, endpoint)
    for name in sorted({*template_entries, *all_current}):
        value, current = template_entries.get(name), all_current.get(name)
        declared = json.loads(value) if value else None
        if current is None:
            yield Difference(name, declared, None, f"make deliver STAGE={stage}")
        elif declared is None or not _same(declared, current):
            yield _changed(ssm, name, declared, current)


def _changed(ssm: "SSMClient", name: str, declared: Entry | None, current: Entry) -> Difference:
    """Return a difference with the time and user of the last change (GetParameterHistory)."""
    pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
    versions = [version for page in pages for version in page["Parameters"]]
    last = max(versions, key=lambda version: version["Version"])
    _, _, stage, endpoint, model = name.split("/")
    if declared is None:
        command = f"aws ssm delete-parameter --name {name}"
    elif not current or declared["version"] == current["version"]:
        command = f"make deliver STAGE={stage}"
    elif any(_same(declared, parse_entry(version["Value"])) for version in versions):
        command = f"tritonsm rollback {stage} {endpoint} {model} --to {declared['version']}"
    else:
        command = f"tritonsm publish {stage} {endpoint} models/{model}"
    return Difference(
        *(name, declared, current, command),
        *(last["LastModifiedDate"].astimezone(UTC), last["LastModifiedUser"]),
    )


def _same(one: Entry, other: Entry) -> bool:
    """Whether two entries send clients to the same archive: a published one is another."""
    compared = ("version", "endpoint", "target_model", "inference_component", "signature")
    return all(one.get(name) == other.get(name) for name in compared)
