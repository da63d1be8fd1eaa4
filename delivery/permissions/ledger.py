"""The ledger of permissions: one file per principal, one row per step that needs permissions."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from platform_facts.rules import checked_yaml

FOLDER = Path(__file__).parent / "principals"

Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Condition = dict[str, dict[str, str | tuple[str, ...]]]
"""Operator -> condition key -> one value or several, as in a policy."""

Feature = Literal[
    "data capture",
    "engine builds",
    "encrypted volumes",
    "existing key",
    "inference components",
    "mirrored images",
    "own image",
    "preflight",
    "private network",
    "promotion",
    "Triton metrics",
]
"""An optional feature of a stage or endpoint.

The preflight is a feature because a delivery can skip it.
"""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Entry):
    """The permissions that one step needs: every action on every resource, under the condition.

    `actions` and `resources` are patterns as in a policy; resources may contain the `{names}` of
    `NAMED_RESOURCES`. The policies must allow exactly these actions and resources, with
    `condition`. With `feature`, the step runs only in stages with that feature. `source` is an AWS
    page or a file of this repository; `reason` replaces a missing source.
    """

    step: Text
    actions: Texts
    resources: Texts
    condition: Condition = {}
    feature: Feature | None = None
    source: Text | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _has_source_or_reason(self) -> Self:
        if self.source is None and self.reason is None:
            raise ValueError("write a source, or the reason for the permissions")
        return self


class Role(_Entry):
    """A role in the templates: its stack, and its logical id without the CDK's hash.

    `trusts` is the principal in the role's trust policy.
    """

    stack: Literal["delivery", "endpoint", "models"]
    logical_id: Text
    trusts: Text


class Principal(_Entry):
    """A caller of AWS.

    Its permissions come from one of three places: roles in the templates (`roles`), each with all
    rows; resource policies that allow `policy_principal`; or the source in `granted_by`, outside
    the templates.
    """

    name: str = ""
    description: Text
    roles: tuple[Role, ...] = ()
    policy_principal: Text | None = None
    granted_by: Text | None = None
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_one_kind_of_grant(self) -> Self:
        if sum(map(bool, (self.roles, self.policy_principal, self.granted_by))) != 1:
            raise ValueError("write one of roles, policy_principal and granted_by")
        return self


@cache
def principals() -> tuple[Principal, ...]:
    """Return every principal, sorted by name. Raise `checked_yaml.InvalidFile`."""
    return tuple(
        checked_yaml.load(path, Principal).model_copy(update={"name": path.stem})
        for path in sorted(FOLDER.glob("*.yaml"))
    )
