"""The ledger of permissions: a file for each principal, a row for each step that needs them."""

from functools import cache
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

import checked_yaml

FOLDER = Path(__file__).parent / "principals"

Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[tuple[Text, ...], Field(min_length=1)]
Condition = dict[str, dict[str, str | tuple[str, ...]]]
"""Operator -> condition key -> one value or several, as in a policy."""

Feature = Literal[
    "data capture",
    "engine builds",
    "encrypted volumes",
    "inference components",
    "mirrored images",
    "preflight",
    "private network",
    "promotion",
    "Triton metrics",
]
"""A feature that a stage or endpoint may not have: rows with `when` are needed only with it.

A delivery can skip its preflight: permissions of the preflight are not needed to deploy.
"""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Entry):
    """The permissions that one step needs: every action on every resource, under the condition.

    `actions` and `resources` are patterns as in a policy; resources may have the `{names}` of
    `NAMED`. A policy must allow exactly these, with `condition`. The step runs only with the
    feature `when`. `source` is a page of AWS or a file of this repository; without one, `reason`
    says why the permissions are needed.
    """

    step: Text
    actions: Texts
    resources: Texts
    condition: Condition = {}
    when: Feature | None = None
    source: Text | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _has_source_or_reason(self) -> Self:
        if self.source is None and self.reason is None:
            raise ValueError("write a source, or the reason why it is needed")
        return self


class Role(_Entry):
    """A role in the templates: its stack and its logical id without the CDK's hash.

    `trusts` is the principal in its trust policy.
    """

    stack: Literal["delivery", "endpoint", "models"]
    resource: Text
    trusts: Text


class Principal(_Entry):
    """A caller of AWS.

    Its permissions are those of our `roles`, each with all rows; or those of resource policies that
    name it as `named`; or `granted` says who grants them.
    """

    name: str = ""
    who: Text
    roles: tuple[Role, ...] = ()
    named: Text | None = None
    granted: Text | None = None
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_one_kind_of_grant(self) -> Self:
        if sum(map(bool, (self.roles, self.named, self.granted))) != 1:
            raise ValueError("write one of roles, named and granted")
        return self


@cache
def principals() -> tuple[Principal, ...]:
    """Return every principal, sorted by name. Raise `checked_yaml.InvalidFile`."""
    return tuple(
        checked_yaml.load(path, Principal).model_copy(update={"name": path.stem})
        for path in sorted(FOLDER.glob("*.yaml"))
    )
