"""Names: those of a stage's endpoints, stacks and alarms begin with the stage's."""

from collections.abc import Iterable


def stage_of(name: str, stages: Iterable[str]) -> str | None:
    """Return the stage that a name is of: dev-eu-text is of dev-eu, though there be a dev."""
    return max((stage for stage in stages if name.startswith(f"{stage}-")), key=len, default=None)
