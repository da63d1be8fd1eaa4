"""Steps of increasing load, until a step misses the objective."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from cli.load.step import LoadStep

MAX_DECREASES = 4
"""Number of lower levels to try if the first level misses the objective."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The objective of a step: latencies in ms, and the allowed share of failed calls."""

    p95: float | None = None
    p99: float | None = None
    max_errors: float = 0.01

    @property
    def has_latency(self) -> bool:
        """Whether the objective has a latency."""
        return self.p95 is not None or self.p99 is not None

    def miss_reason(self, step: LoadStep) -> str:
        """Return why a step misses the objective, or an empty text if the step meets it."""
        if step.error_share > self.max_errors:
            kinds = ", ".join(f"{number} {kind}" for kind, number in step.errors.items())
            return f"{step.error_share:.1%} of the calls failed ({kinds}): {step.first_error}"
        for name, limit in {"p95": self.p95, "p99": self.p99}.items():
            if limit is not None and step.latency_ms.get(name, 0.0) > limit:
                return f"{name} is {step.latency_ms[name]:.1f} ms, the objective {limit:g} ms"
        return ""


@dataclass(frozen=True, kw_only=True)
class Ramp:
    """The levels of the steps: rates, or numbers of callers.

    Each level is `growth` times the previous one until a step misses the objective. With a
    `precision`, further steps lie between the highest level that met the objective and the lowest
    that missed it, until these differ by at most that factor; if none met it, levels decrease.
    """

    start: float
    growth: float
    max_steps: int
    precision: float | None = None

    def next_level(self, steps: Sequence[tuple[float, bool]]) -> float | None:
        """Return the next level, None at the end; `steps` has levels and whether each was met."""
        highest_met = max((level for level, met in steps if met), default=None)
        lowest_missed = min((level for level, met in steps if not met), default=None)
        if len(steps) == self.max_steps:
            return None
        if lowest_missed is None:
            return self.start if highest_met is None else highest_met * self.growth
        if self.precision is None:
            return None
        if highest_met is None:
            return lowest_missed / self.growth if len(steps) <= MAX_DECREASES else None
        if lowest_missed / highest_met <= self.precision:
            return None
        return math.sqrt(lowest_missed * highest_met)

    async def run(
        self,
        run_step: Callable[[float], Awaitable[LoadStep]],
        objective: Objective,
        show: Callable[[LoadStep, str], None],
    ) -> list[LoadStep]:
        """Run the steps; call `show` with each step and why it misses the objective."""
        steps: list[LoadStep] = []
        outcomes: list[tuple[float, bool]] = []
        while (level := self.next_level(outcomes)) is not None:
            step = await run_step(level)
            reason = objective.miss_reason(step)
            steps.append(step)
            outcomes.append((level, not reason))
            show(step, reason)
        return steps


def find_sustained_step(steps: Sequence[LoadStep], objective: Objective) -> LoadStep | None:
    """Return the highest step below every miss of the objective, None if the lowest is a miss."""
    best = None
    for step in sorted(steps, key=lambda step: step.level):
        if objective.miss_reason(step):
            break
        best = step
    return best
