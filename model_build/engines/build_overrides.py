"""Settings in which a build of CodeBuild differs from its project."""

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
"""What a build and a project have in common, and what runs depends on (API, Build and Project)."""


def build_overrides(
    build: Mapping[str, Any], project: Mapping[str, Any], *, image: str
) -> list[str]:
    """Return the settings that StartBuild overrode, such as `environment.privilegedMode`.

    The build has to run in `image`. Its job and artifacts are not compared: a result names its job
    by the content that it was compiled from.
    """
    environment, own = build["environment"], {**project["environment"], "image": image}
    names = [name for name in SETTINGS if _differ(build.get(name), project.get(name))]
    names += [
        f"environment.{name}"
        for name in sorted({*environment, *own})
        if _differ(environment.get(name), own.get(name))
    ]
    return names + ["debugSession"] * _differ(build.get("debugSession"), None)


def _differ(value: object, other: object) -> bool:
    return bool(_written(value) != _written(other))


def _written(value: object) -> object:
    """Return a value without what is false or empty in it, which CodeBuild may leave out."""
    if isinstance(value, Mapping):
        written = {key: _written(member) for key, member in value.items()}
        return {key: member for key, member in written.items() if member} or None
    return value or None
