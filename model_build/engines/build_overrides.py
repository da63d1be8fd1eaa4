"""Detection of settings in which a CodeBuild build differs from its project."""

from collections.abc import Mapping
from typing import Any

SETTINGS = (
    "cache",
    "encryptionKey",
    "fileSystemLocations",
    "secondarySourceVersions",
    "serviceRole",
    "source",
    "sourceVersion",
    "vpcConfig",
)
"""Settings of both builds and projects that affect the code that runs (API reference, Build and
Project)."""


def build_overrides(
    build: Mapping[str, Any], project: Mapping[str, Any], *, image: str
) -> list[str]:
    """Return the settings that StartBuild overrode, such as `environment.privilegedMode`.

    The expected image is `image`. Source and artifacts are not compared: a result contains the
    digest of its job.
    """
    environment, expected = build["environment"], {**project["environment"], "image": image}
    names = [name for name in SETTINGS if _differ(build.get(name), project.get(name))]
    names += [
        f"environment.{name}"
        for name in sorted({*environment, *expected})
        if _differ(environment.get(name), expected.get(name))
    ]
    return names + ["debugSession"] * _differ(build.get("debugSession"), None)


def _differ(first: object, second: object) -> bool:
    return bool(_without_empty(first) != _without_empty(second))


def _without_empty(first: object) -> object:
    """Return a value without false and empty members, which CodeBuild may omit."""
    if isinstance(first, Mapping):
        members = {key: _without_empty(member) for key, member in first.items()}
        return {key: member for key, member in members.items() if member} or None
    return first or None
