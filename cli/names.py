"""Names: those of a stage's endpoints, stacks and alarms begin with the stage's."""

from collections.abc import Iterable


def stage_of(name: str, stages: Iterable[str]) -> str | None:
    """Return the stage that a name is of: dev-eu-text is of dev-eu, though there be a dev."""
    return max((it for it in stages if name.startswith(f"{it}-")), key=len, default=None)
