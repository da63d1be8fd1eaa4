"""How a stage's catalog differs from what its templates declare."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from release import parameters
from release.stage_resources import catalog_entries
from release.tree import Template

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient
    from mypy_boto3_ssm.type_defs import ParameterHistoryTypeDef

Entry = dict[str, Any]
"""The value of a catalog parameter: `model`, `version`, `endpoint`, `target_model`, `signature`."""


class Kind(StrEnum):
    """What is wrong with a catalog entry."""

    MISSING = "missing"
    FOREIGN = "foreign"
    OTHER = "other version"


@dataclass(frozen=True)
class Difference:
    """A model whose catalog entry is not the declared one.

    `declared` is None for a foreign entry, `current` for a missing one. `time` and `user` are of
    the entry's last change. `by_command` is whether `tritonsm` made it (`publish`, `rollback`).
    """

    kind: Kind
    parameter: str
    declared: Entry | None
    current: Entry | None
    time: datetime | None = None
    user: str | None = None
    by_command: bool = False
    command: str = ""

    @property
    def model(self) -> str:
        """Return `endpoint/model`."""
        return "/".join(self.parameter.split("/")[-2:])

    @property
    def repairable(self) -> bool:
        """Whether a delivery may write the declared entry: nobody can mean it to be otherwise.

        A single-model endpoint has one archive, whatever its entry says. A value that is not an
        entry is an empty one here.
        """
        return self.declared is not None and (
            not self.current or self.declared["target_model"] is None
        )

    @property
    def is_published_copy(self) -> bool:
        """Whether the entry names another archive of the declared version, such as a published one.

        A delivery replaces it by the builder's, once that is there.
        """
        return bool(
            self.declared and self.current and self.declared["version"] == self.current["version"]
        )

    @property
    def text(self) -> str:
        """Return what differs, since when and by whom."""
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
    """Return how the catalog differs from `templates`, which are by their endpoint's short name."""
    return [
        difference
        for endpoint, template in templates.items()
        for difference in _of_endpoint(ssm, stage, endpoint, catalog_entries(template))
    ]


def restore(ssm: "SSMClient", repairable: Iterable[Difference]) -> None:
    """Write entries again as they are declared: CloudFormation does not see that they changed.

    A missing entry that somebody writes at the same time stays.
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


def same(one: Entry, other: Entry) -> bool:
    """Whether two entries send clients to the same archive: a published one is another."""
    compared = ("version", "endpoint", "target_model", "signature")
    return all(one.get(name) == other.get(name) for name in compared)


def _of_endpoint(
    ssm: "SSMClient", stage: str, endpoint: str, declared: Mapping[str, str]
) -> Iterable[Difference]:
    pages = ssm.get_paginator("get_parameters_by_path").paginate(
        Path=f"{parameters.ROOT}{stage}/{endpoint}"
    )
    current = {it["Name"]: parse_entry(it["Value"]) for page in pages for it in page["Parameters"]}
    for name in sorted({*declared, *current}):
        want = json.loads(declared[name]) if name in declared else None
        have = current.get(name)
        if have is None:
            yield Difference(Kind.MISSING, name, want, None, command=f"make deliver STAGE={stage}")
        elif want is None or not same(want, have):
            yield _changed(ssm, stage, name, want, have)


def _changed(
    ssm: "SSMClient", stage: str, name: str, declared: Entry | None, current: Entry
) -> Difference:
    """Return the difference, with its time and user (GetParameterHistory)."""
    pages = ssm.get_paginator("get_parameter_history").paginate(Name=name)
    versions = sorted((it for page in pages for it in page["Parameters"]), key=_number)
    last = versions[-1]
    by_command = last.get("Description", "").endswith((", published", ", rolled back"))
    _, _, _, endpoint, model = name.split("/")
    where = f"{stage} {endpoint}"
    if declared is None:
        command = f"aws ssm delete-parameter --name {name}"
    elif not current or declared["version"] == current["version"]:
        command = f"make deliver STAGE={stage}"
    elif any(same(declared, parse_entry(it["Value"])) for it in versions):
        command = f"tritonsm rollback {where} {model} --to {declared['version']}"
    else:
        command = f"tritonsm publish {where} models/{model}"
    return Difference(
        Kind.OTHER if declared else Kind.FOREIGN,
        *(name, declared, current),
        *(last["LastModifiedDate"].astimezone(UTC), last["LastModifiedUser"]),
        by_command=by_command,
        command=command,
    )


def _number(version: "ParameterHistoryTypeDef") -> int:
    return version["Version"]


def parse_entry(value: str) -> Entry:
    """Return the entry of a parameter's value, an empty one for a value that clients cannot use."""
    try:
        entry = json.loads(value)
        texts = [entry[name] for name in ("model", "version", "endpoint")]
        archive, signature = entry["target_model"], entry["signature"]
    except (ValueError, KeyError, TypeError):
        return {}
    is_entry = all(isinstance(text, str) for text in texts) and isinstance(signature, dict)
    return entry if is_entry and isinstance(archive, str | None) else {}
