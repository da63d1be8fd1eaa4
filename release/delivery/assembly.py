"""What a stage's templates say: its stacks, the archives that they need, its endpoints."""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from release.delivery.declared import resources
from release.delivery.steps import step
from release.tree import Template, Tree, templates

MANIFEST = "manifest.json"
TOKEN = "ServiceToken"
"""The property of a custom resource that is CloudFormation's own."""


@dataclass(frozen=True)
class StackEndpoint:
    """An endpoint of a stage. `config` is the logical id of its configuration in `stack`."""

    name: str
    short_name: str
    stack: str
    config: str


def stack_endpoints(stage: str, stack: str, template: Template) -> list[StackEndpoint]:
    """Return the endpoints of a stack by its template."""
    return [
        StackEndpoint(
            name=it["EndpointName"],
            short_name=it["EndpointName"].removeprefix(f"{stage}-"),
            stack=stack,
            config=it["EndpointConfigName"]["Fn::GetAtt"][0],
        )
        for _, it in resources(template, "AWS::SageMaker::Endpoint")
    ]


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

    @property
    def digests(self) -> dict[str, str]:
        """The keys of all archives -> the digest of what each is built from, in full."""
        return {it["Key"]: it["Digest"] for _, _, it in self._resources("Custom::TritonModel")}

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
            endpoint
            for stack, template in self.templates.items()
            for endpoint in stack_endpoints(self.stage, stack, template)
        ]

    @contextmanager
    def with_template(self, stack: str, template: Template) -> Iterator[Path]:
        """Give the folder of an assembly of one stack, with another template.

        It uploads that template and nothing else: what it needs was uploaded when it was deployed.
        The template is an asset like others, whose key is the hash of its content: under the key of
        the stack's own, the CLI would take the one for the other.
        """
        text = json.dumps(template, indent=1)
        key = hashlib.sha256(text.encode()).hexdigest()
        manifest = json.loads((self.folder / MANIFEST).read_text())
        artifact = manifest["artifacts"][stack]
        properties, own = artifact["properties"], f"{stack}.assets"
        url = properties["stackTemplateAssetObjectUrl"]
        properties["stackTemplateAssetObjectUrl"] = f"{url.rpartition('/')[0]}/{key}.json"
        artifact["dependencies"] = [own]
        artifact.pop("additionalMetadataFile", None)
        assets_file = manifest["artifacts"][own]["properties"]["file"]
        assets = json.loads((self.folder / assets_file).read_text())
        (asset,) = (
            it
            for it in assets["files"].values()
            if it["source"]["path"] == properties["templateFile"]
        )
        for destination in asset["destinations"].values():
            folder, slash, _ = destination["objectKey"].rpartition("/")
            destination["objectKey"] = f"{folder}{slash}{key}.json"
        artifacts = {name: manifest["artifacts"][name] for name in (stack, own)}
        with TemporaryDirectory(prefix="delivery-") as folder:
            for name, content in (
                (MANIFEST, json.dumps({**manifest, "artifacts": artifacts})),
                (assets_file, json.dumps({**assets, "files": {key: asset}})),
                (properties["templateFile"], text),
            ):
                Path(folder, name).write_text(content)
            yield Path(folder)

    def _resources(self, kind: str) -> Iterator[tuple[str, str, Any]]:
        for stack, template in self.templates.items():
            for name, properties in resources(template, kind):
                yield stack, name, properties


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
