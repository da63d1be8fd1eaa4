"""The state of the local SageMaker beyond AWS's APIs: its speed, and the loaded models."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from cli.status.report import Loaded, Model
from local_sagemaker import LOOPBACK

PATH = "/_local_sagemaker/state"
SECONDS = 5


@dataclass(frozen=True)
class LocalState:
    """`speed` is how many seconds of AWS's waits and periods pass in one; `endpoints` by name.

    None where the local SageMaker does not say.
    """

    speed: float | None = None
    endpoints: Mapping[str, Any] | None = None

    @classmethod
    def ask(cls, url: str) -> "LocalState":
        """Return the state of the local SageMaker at a URL; an old or busy one gives none."""
        try:
            with LOOPBACK.open(url + PATH, timeout=SECONDS) as answer:
                told = json.load(answer)
        except (OSError, ValueError):
            return cls()
        return cls(told["speed"], {it["name"]: it for it in told["endpoints"]})

    def loaded(self, endpoint: str, archive: str | None) -> list[Loaded] | None:
        """Return where a model is in memory; without an archive, the one model of an endpoint."""
        if self.endpoints is None:
            return None
        return [
            Loaded(variant["name"], instance["id"], model["state"], model["memory"])
            for variant in self.endpoints.get(endpoint, {}).get("variants", ())
            for instance in variant["instances"]
            for model in instance["models"]
            if archive in (None, model["target"])
        ]

    def beside(self, catalog: Iterable[Model]) -> list[Model]:
        """Return the models in memory that the catalog does not name, such as earlier versions."""
        named = {(it.endpoint, it.archive) for it in catalog}
        loaded = {
            (endpoint, model["target"])
            for endpoint, described in (self.endpoints or {}).items()
            for variant in described["variants"]
            for instance in variant["instances"]
            for model in instance["models"]
            if model["target"]
        }
        models = []
        for endpoint, archive in sorted(loaded - named):
            name, _, version = archive.removesuffix(".tar.gz").rpartition("-")
            places = self.loaded(endpoint, archive)
            models.append(Model(endpoint, name, version, archive, places, in_catalog=False))
        return models
