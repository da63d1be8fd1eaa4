"""The catalog of an endpoint, changed without a deploy: `/triton/<stage>/<endpoint>/<model>`."""

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

Entry = dict[str, Any]
"""What a parameter says: `model`, `version`, `endpoint`, `target_model`, `signature`."""

Cause = Literal["deployed", "published", "rolled back"]
"""How an entry became current. What a deploy writes says nothing of it."""


@dataclass(frozen=True)
class CatalogVersion:
    """An earlier value of a parameter, and how it became current."""

    entry: Entry
    way: Cause

    @property
    def version(self) -> str:
        """The version that clients were sent to."""
        return str(self.entry["version"])


@dataclass(frozen=True)
class Catalog:
    """The models of one endpoint of one stage.

    Changing an entry here is a change that CloudFormation does not know of: it stays until a deploy
    changes this model.
    """

    ssm: "SSMClient"
    stage: str
    endpoint: str

    @property
    def path(self) -> str:
        """The path below which the parameters stand."""
        return f"/triton/{self.stage}/{self.endpoint}"

    def entries(self) -> dict[str, Entry]:
        """Return the entry of every model; a value that is not an entry is left out."""
        pages = self.ssm.get_paginator("get_parameters_by_path").paginate(Path=self.path)
        parameters = [parameter for page in pages for parameter in page["Parameters"]]
        entries = {
            parameter["Name"].rpartition("/")[2]: _entry(parameter["Value"])
            for parameter in parameters
        }
        return {model: entry for model, entry in entries.items() if entry}

    @property
    def endpoint_name(self) -> str:
        """SageMaker's name of the endpoint, which is in its entries.

        Without an entry, the name that a multi-model endpoint has: the stack's.
        """
        names = (str(entry["endpoint"]) for entry in self.entries().values() if "endpoint" in entry)
        return next(names, f"{self.stage}-{self.endpoint}")

    def history(self, model: str) -> list[CatalogVersion]:
        """Return the values of a model's parameter, the current entry last; SSM keeps 100.

        Values that clients could not be sent by are left out, and named.
        """
        pages = self.ssm.get_paginator("get_parameter_history").paginate(Name=self._name(model))
        values = sorted(
            (value for page in pages for value in page["Parameters"]),
            key=lambda value: value["Version"],
        )
        pasts = []
        for value in values:
            entry = _entry(value["Value"]) or {}
            if entry.keys() >= {"model", "version", "endpoint", "target_model"}:
                pasts.append(CatalogVersion(entry, _way(value.get("Description", ""))))
            else:
                name = f"{self._name(model)}:{value['Version']}"
                print(f"! {name} is not a catalog entry: left out", file=sys.stderr)  # noqa: T201
        return pasts

    def flip(self, entry: Entry, way: Cause) -> None:
        """Make `entry` what clients resolve its model to.

        Parameter Store keeps a description with each value, and CloudFormation writes its own with
        the next: so the mark is as old as the value (GetParameterHistory's reference).
        """
        self.ssm.put_parameter(
            Name=self._name(entry["model"]),
            Description=f"Current archive of {entry['model']}, {way}",
            Value=json.dumps(entry, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )

    def _name(self, model: str) -> str:
        return f"{self.path}/{model}"


def _entry(value: str) -> Entry | None:
    """Return the entry of a parameter's value, or None if the value is not an entry."""
    try:
        entry = json.loads(value)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) else None


def _way(description: str) -> Cause:
    way = description.rpartition(", ")[2]
    return cast("Cause", way) if way in ("published", "rolled back") else "deployed"


def lineage(history: Sequence[CatalogVersion]) -> list[CatalogVersion]:
    """Return the versions that led to the current one, which is the last.

    What was rolled back from is not among them, by whomever: a deploy of a version that stands here
    already is a failed deploy's way back, or an older commit's. Only `publish` puts such a version
    on top, since somebody wanted it after the others.
    """
    line: list[CatalogVersion] = []
    for past in history:
        same = [number for number, earlier in enumerate(line) if earlier.version == past.version]
        if same and (past.way != "published" or same[-1] == len(line) - 1):
            del line[same[-1] :]
        line.append(past)
    return line
