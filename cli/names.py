"""Names of endpoints, stacks and alarms, which begin with their stage's name."""

from collections.abc import Iterable


def stage_of(name: str, stages: Iterable[str]) -> str | None:
    """Return the stage of a name: dev-eu for dev-eu-text, even if a stage dev exists."""
    return max((stage for stage in stages if name.startswith(f"{stage}-")), key=len, default=None)
