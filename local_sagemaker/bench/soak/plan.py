"""What is done to a local SageMaker, and when: random, and the same for one seed."""

import random
from collections.abc import Mapping
from dataclasses import dataclass

LATEST = 0.6
"""Share of a run by which everything has its first turn, so that a short one has all of it."""


@dataclass(frozen=True)
class Planned:
    """What is done at a second of a run, and the seed of what is random about it."""

    second: float
    what: str
    seed: int


def plan(pauses: Mapping[str, float], *, seconds: float, seed: int) -> list[Planned]:
    """Return what is done, in the order of time. `pauses` are mean seconds between two of a kind.

    A kind's turns have a random distance, as radioactive decays do: none knows of those before.
    """
    chance = random.Random(seed)
    planned = []
    for what, pause in sorted(pauses.items()):
        second = chance.uniform(0, min(pause, LATEST * seconds))
        while second < seconds:
            planned.append(Planned(second, what, chance.getrandbits(32)))
            second += chance.expovariate(1 / pause)
    return sorted(planned, key=lambda it: it.second)
