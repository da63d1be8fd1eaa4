"""A client that resolves models in the catalog and invokes every instance that may answer."""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.sagemaker.component_operations import HostingOperations
from tests.transitions import instances


class FakeRandom:
    """A replacement of `random` with which successive calls reach every instance.

    With `random`, the endpoint chooses the old or the new fleet, if an update has started a new
    one; with `choices`, the fleet chooses the variant.
    """

    def __init__(self) -> None:
        self._call = self._variants = 0
        self._has_two_fleets = False

    def calls(self) -> Iterator[int]:
        """Yield the numbers of calls until every combination of choices was made."""
        self._call, self._variants, self._has_two_fleets = 0, 1, False
        while self._call < (2 if self._has_two_fleets else 1) * self._variants:
            yield self._call
            self._call += 1

    def random(self) -> float:
        self._has_two_fleets = True
        return self._call % 2 * 0.999_999  # 0 chooses the new fleet, almost 1 the old one

    def choices(self, names: list[str], weights: list[float]) -> list[str]:
        possible = [name for name, weight in zip(names, weights, strict=True) if weight]
        self._variants = max(self._variants, len(possible))
        index = self._call // 2 if self._has_two_fleets else self._call
        return [possible[index % len(possible)]]


class Caller:
    """A client that records failed calls; `catalog` returns model -> entry.

    Like a client with a cache, it also invokes the models of the previous entries.
    """

    def __init__(
        self,
        hosting: HostingOperations,
        fake_random: FakeRandom,
        catalog: Callable[[], Mapping[str, str]],
    ) -> None:
        self._hosting, self._random, self._catalog = hosting, fake_random, catalog
        self._previous_entries: dict[str, str] = {}
        self.failed_calls: list[str] = []

    def invoke_all(self, step: str) -> None:
        """Invoke every model of the catalog."""
        entries = dict(self._catalog())
        if entries:
            for model, entry in {*self._previous_entries.items(), *entries.items()}:
                self._invoke(step, model, json.loads(entry))
        self._previous_entries = entries

    def _invoke(self, step: str, model: str, entry: Mapping[str, Any]) -> None:
        for _ in self._random.calls():
            try:
                archive = self._answer(entry)
            except (ApiError, LocalSageMakerError) as error:
                self.failed_calls.append(f"{step}: {model}: {error}")
                return
            if not archive.startswith(f"{model}-"):
                self.failed_calls.append(f"{step}: {model}: {archive} answers instead")
                return

    def _answer(self, entry: Mapping[str, Any]) -> str:
        target = entry["target_model"]
        invoked = self._hosting.endpoints_by_name.get(entry["endpoint"])
        if component := entry.get("inference_component"):
            invoked = invoked and self._hosting.components.get(component)
        route = invoked.route(target) if invoked else None
        if route is None:
            raise LocalSageMakerError(f"Endpoint {entry['endpoint']} not found")
        _, instance = route
        try:
            return instances.answering_archive(instance, target)
        finally:
            instance.calls -= 1
