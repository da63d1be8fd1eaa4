"""The catalog of an endpoint, changed without a deploy: `/triton/<stage>/<endpoint>/<model>`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

from platform_facts.rules.catalog import catalog_path

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

Entry = dict[str, Any]
"""A parameter's value: `model`, `version`, `endpoint`, `target_model`, `signature`."""

Cause = Literal["deployed", "published", "rolled back"]
"""The operation that made an entry current. Deploys do not record it."""


@dataclass(frozen=True)
class CatalogVersion:
    """A value of a model's parameter, and the operation that made it current."""

    entry: Entry
    cause: Cause

    @property
    def version(self) -> str:
        """The model's version."""
        return str(self.entry["version"])


@dataclass(frozen=True)
class Catalog:
    """The catalog of one endpoint of a stage.

    CloudFormation does not see changes made here: they remain until a deploy changes the model.
    """

    ssm: "SSMClient"
    stage: str
    endpoint: str

    @property
    def path(self) -> str:
        """The path of the parameters."""
        return catalog_path(self.stage, self.endpoint)

    def entries(self) -> dict[str, Entry]:
        """Return the entries by model; invalid values are ignored."""
        pages = self.ssm.get_paginator("get_parameters_by_path").paginate(Path=self.path)
        parameters = [parameter for page in pages for parameter in page["Parameters"]]
        entries = {
            parameter["Name"].rpartition("/")[2]: _parse_entry(parameter["Value"])
            for parameter in parameters
        }
        return {model: entry for model, entry in entries.items() if entry}

    @property
    def endpoint_name(self) -> str:
        """The endpoint's name in SageMaker: as in the entries, or else the stack's name."""
        names = (str(entry["endpoint"]) for entry in self.entries().values() if "endpoint" in entry)
        return next(names, f"{self.stage}-{self.endpoint}")

    def history(self, model: str) -> list[CatalogVersion]:
        """Return the values of a model's parameter, the current one last; SSM keeps 100.

        Invalid values are ignored with a warning.
        """
        pages = self.ssm.get_paginator("get_parameter_history").paginate(Name=self._name(model))
        values = sorted(
            (value for page in pages for value in page["Parameters"]),
            key=lambda value: value["Version"],
        )
        versions = []
        for value in values:
            entry = _parse_entry(value["Value"]) or {}
            if entry.keys() >= {"model", "version", "endpoint", "target_model"}:
                versions.append(CatalogVersion(entry, _parse_cause(value.get("Description", ""))))
            else:
                name = f"{self._name(model)}:{value['Version']}"
                print(f"! {name} is not a catalog entry: left out", file=sys.stderr)  # noqa: T201
        return versions

    def set_current(self, entry: Entry, cause: Cause) -> None:
        """Make `entry` the current entry of its model.

        The description records the cause: Parameter Store keeps a description with each value, and
        CloudFormation overwrites it (GetParameterHistory's reference).
        """
        self.ssm.put_parameter(
            Name=self._name(entry["model"]),
            Description=f"Current archive of {entry['model']}, {cause}",
            Value=json.dumps(entry, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )

    def _name(self, model: str) -> str:
        return f"{self.path}/{model}"


def _parse_entry(value: str) -> Entry | None:
    """Return the entry in a parameter's value, or None if the value is invalid."""
    try:
        entry = json.loads(value)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _parse_cause(description: str) -> Cause:
    cause = description.rpartition(", ")[2]
    return cast("Cause", cause) if cause in ("published", "rolled back") else "deployed"


def predecessors_and_current(history: Sequence[CatalogVersion]) -> list[CatalogVersion]:
    """Return the current version, last, after its predecessors.

    Versions that were rolled back are not predecessors. A deploy of an earlier version is also a
    rollback: of a failed deploy, or to an older commit. An earlier version that is published again
    is the newest version.
    """
    lineage: list[CatalogVersion] = []
    for catalog_version in history:
        indexes = [
            index
            for index, predecessor in enumerate(lineage)
            if predecessor.version == catalog_version.version
        ]
        if indexes and (catalog_version.cause != "published" or indexes[-1] == len(lineage) - 1):
            del lineage[indexes[-1] :]
        lineage.append(catalog_version)
    return lineage
