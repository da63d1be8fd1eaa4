"""Steps of growing load, until an objective breaks."""

import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from cli.load.step import LoadStep

MAX_SHRINKS = 4
"""How often levels shrink: where nothing holds then, the model is too slow for the objective."""


@dataclass(frozen=True, kw_only=True)
class Objective:
    """The objective of a step: latencies in ms, and the share of calls that may fail."""

    p95: float | None = None
    p99: float | None = None
    max_errors: float = 0.01

    @property
    def has_latency(self) -> bool:
        """Whether the objective has a latency."""
        return self.p95 is not None or self.p99 is not None

    def broken_by(self, step: LoadStep) -> str:
        """Return how a step breaks the objective, nothing where it holds it."""
        if step.error_share > self.max_errors:
            kinds = ", ".join(f"{number} {kind}" for kind, number in step.errors.items())
            return f"{step.error_share:.1%} of the calls failed ({kinds}): {step.first_error}"
        for name, most in {"p95": self.p95, "p99": self.p99}.items():
            if most is not None and step.latency_ms.get(name, 0.0) > most:
                return f"{name} is {step.latency_ms[name]:.1f} ms, the objective {most:g} ms"
        return ""


@dataclass(frozen=True, kw_only=True)
class Ramp:
    """The levels of the steps: rates, or numbers of callers.

    Each is `growth` times the one before until a step breaks the objective. With a `precision`,
    steps between the highest level that held and the lowest that broke go on until these differ by
    that factor at most; where none held, levels shrink.
    """

    start: float
    growth: float
    max_steps: int
    precision: float | None = None

    def next_level(self, steps: Sequence[tuple[float, bool]]) -> float | None:
        """Return the level after steps, each with whether it held; None for the end."""
        held = max((level for level, holds in steps if holds), default=None)
        broke = min((level for level, holds in steps if not holds), default=None)
        if len(steps) == self.max_steps:
            return None
        if broke is None:
            return self.start if held is None else held * self.growth
        if self.precision is None:
            return None
        if held is None:
            return broke / self.growth if len(steps) <= MAX_SHRINKS else None
        return None if broke / held <= self.precision else math.sqrt(broke * held)

    async def run(
        self,
        run_step: Callable[[float], Awaitable[LoadStep]],
        objective: Objective,
        show: Callable[[LoadStep, str], None],
    ) -> list[LoadStep]:
        """Run the steps; `show` is called with each, and how it broke the objective."""
        steps: list[LoadStep] = []
        outcomes: list[tuple[float, bool]] = []
        while (level := self.next_level(outcomes)) is not None:
            step = await run_step(level)
            reason = objective.broken_by(step)
            steps.append(step)
            outcomes.append((level, not reason))
            show(step, reason)
        return steps


def sustained(steps: Sequence[LoadStep], objective: Objective) -> LoadStep | None:
    """Return the highest step below which none broke the objective; None where the lowest did."""
    best = None
    for step in sorted(steps, key=lambda step: step.level):
        if objective.broken_by(step):
            break
        best = step
    return best
