"""Settings that limit what can go wrong, and are taken back."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from release.review.comparison import Comparison
from release.review.dangers.found import Found


class _Safeguard(NamedTuple):
    """A property below `Properties`, by its steps, that `holds` for some values."""

    type: str
    steps: tuple[str, ...]
    holds: Callable[[Any], bool]
    without: str


def _is_on(value: Any) -> bool:
    return value in (True, "true", "Enabled")


def _is_off(value: Any) -> bool:
    return not _is_on(value)


def _is_there(value: Any) -> bool:
    return value is not None


_SAFEGUARDS = (
    # KMS developer guide, rotate-keys
    _Safeguard("AWS::KMS::Key", ("EnableKeyRotation",), _is_on, "is no longer rotated"),
    # KMS API reference, DisableKey: what it encrypts cannot be read; enabled unless it is set
    _Safeguard("AWS::KMS::Key", ("Enabled",), lambda it: it is None or _is_on(it), "is disabled: "
               "what it encrypts cannot be read"),
    # S3 user guide, Versioning
    _Safeguard("AWS::S3::Bucket", ("VersioningConfiguration", "Status"), _is_on, "keeps no earlier "
               "versions of objects any more"),
    # IAM user guide, access_policies_boundaries
    _Safeguard("AWS::IAM::Role", ("PermissionsBoundary",), _is_there, "has no permissions boundary "
               "any more"),
    # SageMaker API reference, CreateModel, EnableNetworkIsolation
    _Safeguard("AWS::SageMaker::Model", ("EnableNetworkIsolation",), _is_on, "may make calls out "
               "of its container"),
    # CodeBuild user guide, change-project: a build in privileged mode reaches the Docker daemon
    _Safeguard("AWS::CodeBuild::Project", ("Environment", "PrivilegedMode"), _is_off, "builds in "
               "privileged mode"),
)  # fmt: skip


def lost_safeguards(comparison: Comparison) -> Iterator[Found]:
    """A resource that stays no longer has a setting that held before; each row has its source."""
    for change in comparison.changes:
        if not (change.before and change.after):
            continue
        for it in _SAFEGUARDS:
            was, now = (_value(side, it.steps) for side in (change.before, change.after))
            if change.type == it.type and it.holds(was) and not it.holds(now):
                yield Found(
                    f"{change.stack}.{change.path}.{it.steps[-1]}",
                    f"{change.type} {change.path} {it.without}",
                )


def _value(resource: dict[str, Any], steps: tuple[str, ...]) -> Any:
    value: Any = resource.get("Properties", {})
    for step in steps:
        value = value.get(step) if isinstance(value, dict) else None
    return value
