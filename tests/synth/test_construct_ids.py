"""Independence of policies from construct IDs."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsii
import pytest
from aws_cdk import App, Stack
from constructs import Construct

from tests.synth.conftest import CONTEXT, add_stage, templates_in, templates_of
from tests.synth.deployed import Deployed, Resource
from tests.synth.every_stage import ACCOUNT, every_stage

UNCHANGED_IDS = {"Models", "Bucket", "Deploy"}
"""IDs in generated names of the model bucket and the deploy role.

Other stacks refer to these names, and neither resource can be replaced to get a fixed name."""


def test_access_does_not_depend_on_construct_ids(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = access(templates_of("all"))
    create = jsii.create

    def create_renamed(construct_class: type, instance: object, args: Any = None) -> Any:
        if isinstance(instance, Construct) and not isinstance(instance, App | Stack):
            scope, construct_id, *properties = args
            name = construct_id if construct_id in UNCHANGED_IDS else f"Other{construct_id}"
            args = [scope, name, *properties]
        return create(construct_class, instance, args)

    monkeypatch.setattr(jsii, "create", create_renamed)
    renamed = App(context=CONTEXT, outdir=str(tmp_path), stack_traces=False)
    add_stage(renamed, "all", every_stage("all"))
    templates = templates_in(renamed.synth())  # also runs cdk-nag with its suppressions
    assert {*templates["all-models"]["Resources"]}.isdisjoint(
        name for name in templates_of("all")["all-models"]["Resources"] if "Builder" in name
    )
    assert access(templates) == expected


class Numbered(Deployed):
    """Templates whose resources without a name are named by their number."""

    def generated_name(self, resource: Resource) -> str:
        return f"#{[*self.resources].index(resource.id)}"


def access(templates: dict[str, dict[str, Any]]) -> list[str]:
    """Return every policy statement."""
    deployed = Numbered(templates, region="eu-west-1", account=ACCOUNT)
    return sorted(
        f"{resource.stack}: {resource.kind}: {statement}"
        for resource in deployed.resources.values()
        for document in _documents(resource.properties)
        for statement in deployed.statements(document, resource.stack)
    )


def _documents(value: Any) -> Iterator[dict[str, Any]]:
    """Yield the policy documents in the properties of a resource."""
    if isinstance(value, dict):
        if "Statement" in value:
            yield value
        else:
            for part in value.values():
                yield from _documents(part)
