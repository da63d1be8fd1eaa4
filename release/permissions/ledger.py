"""Read the ledger: one file a principal, one row a permission that a step of it needs."""

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
"""What a stage or endpoint may lack, and with it the need.

A delivery goes on without its preflight: what only that asks is not needed to deploy.
"""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Row(_Entry):
    """Every action on every resource, under the condition, for one step.

    `actions` and `resources` are patterns as in a policy, resources with `{names}` in them, see
    `NAMED`; a policy has to allow them and may allow no more. `condition` is what the policy has to
    narrow it by. `when` is what there must be for the step to happen. `source` is a page of AWS or
    a file of this repository that says so; without one, `reason` says why it is needed.
    """

    step: Text
    actions: Texts
    resources: Texts
    condition: Condition = {}
    when: Feature | None = None
    source: Text | None = None
    reason: Text | None = None

    @model_validator(mode="after")
    def _is_explained(self) -> Self:
        if self.source is None and self.reason is None:
            raise ValueError("say who says so as source, or why it is needed as reason")
        return self


class Role(_Entry):
    """A role of the templates: the stack and the logical id, without the CDK's hash, that it has.

    `trusts` is who may assume it, as the trust policy names it.
    """

    stack: Literal["delivery", "endpoint", "models"]
    resource: Text
    trusts: Text


class Principal(_Entry):
    """Who calls: `roles` of ours, or `named` in policies of resources; else `granted` says by whom.

    Where a principal has several roles, each is to hold all rows.
    """

    name: str = ""
    who: Text
    roles: tuple[Role, ...] = ()
    named: Text | None = None
    granted: Text | None = None
    rows: Annotated[tuple[Row, ...], Field(min_length=1)]

    @model_validator(mode="after")
    def _has_its_permissions_from_somewhere(self) -> Self:
        if sum(map(bool, (self.roles, self.named, self.granted))) != 1:
            raise ValueError("write one of roles, named and granted")
        return self


@cache
def principals() -> tuple[Principal, ...]:
    """Return every principal, by name. Raises `checked_yaml.InvalidFile`."""
    return tuple(
        checked_yaml.load(path, Principal).model_copy(update={"name": path.stem})
        for path in sorted(FOLDER.glob("*.yaml"))
    )
