"""The catalog of an endpoint, changed without a deploy: `/triton/<stage>/<endpoint>/<model>`."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mypy_boto3_ssm import SSMClient

Entry = dict[str, Any]
"""What a parameter says: `model`, `version`, `endpoint`, `target_model`, `signature`."""


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
        """Return what every model's parameter says."""
        pages = self.ssm.get_paginator("get_parameters_by_path").paginate(Path=self.path)
        found = [parameter for page in pages for parameter in page["Parameters"]]
        return {it["Name"].rpartition("/")[2]: json.loads(it["Value"]) for it in found}

    def earlier(self, model: str) -> Iterator[Entry]:
        """Yield what a model's parameter said before, the latest first, each version once."""
        pages = self.ssm.get_paginator("get_parameter_history").paginate(Name=self._name(model))
        values = [it for page in pages for it in page["Parameters"]]
        seen = set[str]()
        for parameter in sorted(values, key=lambda it: it["Version"], reverse=True):
            entry = json.loads(parameter["Value"])
            if entry["version"] not in seen:
                seen.add(entry["version"])
                yield entry

    def flip(self, entry: Entry) -> None:
        """Make `entry` what clients resolve its model to."""
        self.ssm.put_parameter(
            Name=self._name(entry["model"]),
            Description=f"Current archive of {entry['model']}",
            Value=json.dumps(entry, separators=(",", ":")),
            Type="String",
            Overwrite=True,
        )

    def _name(self, model: str) -> str:
        return f"{self.path}/{model}"
