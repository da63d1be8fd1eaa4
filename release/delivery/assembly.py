"""What a stage's templates say: its stacks, the archives that they need, its endpoints."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release.delivery.steps import step
from release.tree import Template, Tree, templates

TOKEN = "ServiceToken"
"""The property of a custom resource that is CloudFormation's own."""


@dataclass(frozen=True)
class StackEndpoint:
    """An endpoint of a stage. `config` is the logical id of its configuration in `stack`."""

    name: str
    short_name: str
    stack: str
    config: str


@dataclass(frozen=True)
class Assembly:
    """The cloud assembly of one stage in `folder`."""

    folder: Path
    stage: str

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Stack name -> template."""
        return templates(self.folder)

    @property
    def archives(self) -> dict[str, str]:
        """The keys of all archives that the stage's endpoints need -> the stack that needs it."""
        found = {it["Key"]: stack for stack, _, it in self._resources("Custom::TritonModel")}
        return dict(sorted(found.items()))

    def builds(self, known: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """The keys of all archives -> what their builds are given.

        `known` has the values of exports and of CloudFormation's pseudo parameters by their names.
        """
        return {
            it["Key"]: {
                name: _resolved(value, known) for name, value in it.items() if name != TOKEN
            }
            for _, _, it in self._resources("Custom::TritonModel")
        }

    @property
    def bucket_export(self) -> str:
        """The export by which the model bucket's stack names it, without the stack."""
        return self.bucket_import.rpartition(":")[2]

    @property
    def bucket_import(self) -> str:
        """The whole name of that export."""
        _, _, properties = next(self._resources("Custom::TritonModel"))
        return str(properties["Bucket"]["Fn::ImportValue"])

    @property
    def endpoints(self) -> list[StackEndpoint]:
        """The stage's endpoints."""
        return [
            StackEndpoint(
                name=it["EndpointName"],
                short_name=it["EndpointName"].removeprefix(f"{self.stage}-"),
                stack=stack,
                config=it["EndpointConfigName"]["Fn::GetAtt"][0],
            )
            for stack, _, it in self._resources("AWS::SageMaker::Endpoint")
        ]

    def _resources(self, kind: str) -> Iterator[tuple[str, str, Any]]:
        for stack, template in self.templates.items():
            for name, resource in template["Resources"].items():
                if resource["Type"] == kind:
                    yield stack, name, resource["Properties"]


def _resolved(value: Any, known: Mapping[str, str]) -> str:
    """Return what CloudFormation makes of a property."""
    match value:
        case {"Fn::ImportValue": str(name)} | {"Ref": str(name)}:
            return known[name]
        case {"Fn::Join": [str(separator), parts]}:
            return separator.join(_resolved(part, known) for part in parts)
        case {"Fn::Sub": str(text)}:
            return re.sub(r"\$\{([^}]+)\}", lambda found: known[found[1]], text)
    return str(value)


@contextmanager
def synthesised(tree: Tree, stage: str) -> Iterator[Assembly]:
    """Give the assembly of a stage for the length of the `with` block. Raises `NotSynthesised`."""
    with TemporaryDirectory(prefix="delivery-") as folder:
        with step(f"synth {stage}"):
            tree.synthesise(stage, to=Path(folder))
        yield Assembly(Path(folder), stage)
