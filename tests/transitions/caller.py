"""A client that resolves models in the catalog and invokes every instance that may answer."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.sagemaker.component_operations import ComponentOperations
from tests.transitions import instances


class Dice:
    """A replacement of `random` with which successive calls reach every instance.

    A call makes up to two random choices: the fleet during an update, and the variant.
    """

    def __init__(self) -> None:
        self._turn = self._variants = 0
        self._updating = False

    def turns(self) -> Iterator[int]:
        """Yield the numbers of calls until every combination of choices was made."""
        self._turn, self._variants, self._updating = 0, 1, False
        while self._turn < (2 if self._updating else 1) * self._variants:
            yield self._turn
            self._turn += 1

    def random(self) -> float:
        self._updating = True
        return self._turn % 2 * 0.999_999

    def choices(self, names: list[str], weights: list[float]) -> list[str]:
        possible = [name for name, weight in zip(names, weights, strict=True) if weight]
        self._variants = max(self._variants, len(possible))
        turn = self._turn // 2 if self._updating else self._turn
        return [possible[turn % len(possible)]]


class Caller:
    """A client that records failed calls; `catalog` returns model -> entry.

    Like a client with cached entries, it also uses the entries of the previous time.
    """

    def __init__(
        self, hosting: ComponentOperations, dice: Dice, catalog: Callable[[], Mapping[str, str]]
    ) -> None:
        self._hosting, self._dice, self._catalog = hosting, dice, catalog
        self._resolved: dict[str, str] = {}
        self.failed: list[str] = []

    def invoke_all(self, step: str) -> None:
        """Invoke every model of the catalog."""
        current = dict(self._catalog())
        for model, entry in {*self._resolved.items(), *current.items()} if current else ():
            self._invoke(step, model, json.loads(entry))
        self._resolved = current

    def _invoke(self, step: str, model: str, entry: Mapping[str, Any]) -> None:
        for _ in self._dice.turns():
            try:
                archive = self._answer(entry)
            except (ApiError, LocalSageMakerError) as error:
                self.failed.append(f"{step}: {model}: {error}")
                return
            if not archive.startswith(f"{model}-"):
                self.failed.append(f"{step}: {model}: {archive} answers instead")
                return

    def _answer(self, entry: Mapping[str, Any]) -> str:
        target = entry["target_model"]
        endpoint = self._hosting.endpoints_by_name.get(entry["endpoint"])
        if component := entry.get("inference_component"):
            endpoint = endpoint and self._hosting.components.get(component)
        route = endpoint.route(target) if endpoint else None
        if route is None:
            raise LocalSageMakerError(f"Endpoint {entry['endpoint']} not found")
        fleet, instance = route
        try:
            return instances.answer(instance, target)
        finally:
            fleet.release(instance)
