"""A caller that looks a model's name up in the catalog, and asks every instance that may answer."""

import json
from collections.abc import Callable, Mapping
from typing import Any

from local_aws.errors import ApiError, LocalAwsError
from local_aws.sagemaker.hosting_api import Hosting
from tests.transitions import instances

TURNS = 4
"""Calls for each model: to both fleets of an update, and to two variants of each."""


class Dice:
    """Stands in for `random`, so that `TURNS` throws after each other meet every instance."""

    def __init__(self) -> None:
        self.turn = 0

    def random(self) -> float:
        return self.turn % 2 * 0.999_999

    def choices(self, names: list[str], weights: list[float]) -> list[str]:
        possible = [name for name, weight in zip(names, weights, strict=True) if weight]
        return [possible[self.turn // 2 % len(possible)]]


class Caller:
    """Calls, and remembers what failed. `catalog` gives the entries that there are, by model.

    As a client does, which remembers what it resolved, it asks by entries of the last time too.
    """

    def __init__(
        self, hosting: Hosting, dice: Dice, catalog: Callable[[], Mapping[str, str]]
    ) -> None:
        self._hosting, self._dice, self._catalog = hosting, dice, catalog
        self._resolved: dict[str, str] = {}
        self.calls = 0
        self.failed: list[str] = []

    def ask(self, when: str) -> None:
        """Ask for every model of the catalog."""
        now = dict(self._catalog())
        for model, entry in {*self._resolved.items(), *now.items()} if now else ():
            self._ask(when, model, json.loads(entry))
        self._resolved = now

    def _ask(self, when: str, model: str, entry: Mapping[str, Any]) -> None:
        for self._dice.turn in range(TURNS):
            self.calls += 1
            try:
                answered = self._answer(entry)
            except (ApiError, LocalAwsError) as error:
                self.failed.append(f"{when}: {model}: {error}")
                return
            if not answered.startswith(f"{model}-"):
                self.failed.append(f"{when}: {model}: {answered} answers instead")
                return

    def _answer(self, entry: Mapping[str, Any]) -> str:
        target = entry["target_model"]
        fleet, instance = self._hosting.begin(entry["endpoint"], target_model=target)
        try:
            return instances.answer(instance, target)
        finally:
            fleet.end(instance)
