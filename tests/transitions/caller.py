"""A caller that looks a model's name up in the catalog, and asks every instance that may answer."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.sagemaker.components import Components
from tests.transitions import instances


class Dice:
    """Stands in for `random`, so that calls in all turns after each other meet every instance.

    Two throws of a call matter: which fleet of an update, and then which of its variants.
    """

    def __init__(self) -> None:
        self._turn = self._variants = 0
        self._updating = False

    def turns(self) -> Iterator[int]:
        """Count calls until the throws that the last ones made have come out every way."""
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
    """Calls, and remembers what failed. `catalog` gives the entries that there are, by model.

    As a client does, which remembers what it resolved, it asks by entries of the last time too.
    """

    def __init__(
        self, hosting: Components, dice: Dice, catalog: Callable[[], Mapping[str, str]]
    ) -> None:
        self._hosting, self._dice, self._catalog = hosting, dice, catalog
        self._resolved: dict[str, str] = {}
        self.failed: list[str] = []

    def ask(self, when: str) -> None:
        """Ask for every model of the catalog."""
        now = dict(self._catalog())
        for model, entry in {*self._resolved.items(), *now.items()} if now else ():
            self._ask(when, model, json.loads(entry))
        self._resolved = now

    def _ask(self, when: str, model: str, entry: Mapping[str, Any]) -> None:
        for _ in self._dice.turns():
            try:
                answered = self._answer(entry)
            except (ApiError, LocalSageMakerError) as error:
                self.failed.append(f"{when}: {model}: {error}")
                return
            if not answered.startswith(f"{model}-"):
                self.failed.append(f"{when}: {model}: {answered} answers instead")
                return

    def _answer(self, entry: Mapping[str, Any]) -> str:
        target = entry["target_model"]
        endpoint = self._hosting.by_name.get(entry["endpoint"])
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
