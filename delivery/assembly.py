"""The cloud assembly of a stage, and a copy in which one stack has another template."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from delivery.errors import NotDelivered
from plan.document import EndpointSettings, InvalidPlan, Plan
from platform_facts.rules.builds import BuildItem
from release.artefact import ReleaseArtefact
from release.assemblies import read_synthesis
from release.checkout import Checkout
from release.templates import SUFFIX, Template, resolve, resources, templates

MANIFEST = "manifest.json"
ARCHIVES = "Custom::TritonModels"
SERVICE_TOKEN = "ServiceToken"
"""The property of a custom resource that CloudFormation reads; it is not part of a build."""


@dataclass(frozen=True)
class Assembly:
    """The cloud assembly of one stage in `folder`."""

    folder: Path
    stage: str

    @cached_property
    def templates(self) -> dict[str, Template]:
        """Stack name -> template."""
        return templates(self.folder)

    @cached_property
    def archives(self) -> dict[str, BuildItem]:
        """The archives that the stage's endpoints need, by their keys."""
        endpoints = self.plan.endpoints.values()
        items = {item.key: item for endpoint in endpoints for item in endpoint.build_items()}
        return dict(sorted(items.items()))

    def builds(self, values: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Return stack name -> properties of the resource that builds the archives of its endpoint.

        `values` has the values of exports and of CloudFormation's pseudo parameters by name.
        """
        return {
            stack: {
                name: resolve(value, values)
                for name, value in properties.items()
                if name != SERVICE_TOKEN
            }
            for stack, properties in self._builds.items()
        }

    @property
    def bucket_export(self) -> str:
        """The CloudFormation export that has the name of the model bucket."""
        properties = next(iter(self._builds.values()))
        return str(properties["Bucket"]["Fn::ImportValue"])

    @cached_property
    def _builds(self) -> dict[str, dict[str, Any]]:
        return {
            stack: properties
            for stack, template in self.templates.items()
            for _, properties in resources(template, ARCHIVES)
        }

    @property
    def tree(self) -> Checkout:
        """The stage's file and the golden files of the models, which a release has copies of."""
        return Checkout(self.folder)

    @cached_property
    def plan(self) -> Plan:
        """The plan of the stage. Raise `NotDelivered` if this code cannot read it."""
        try:
            return Plan.read(self.folder)
        except InvalidPlan as error:
            raise NotDelivered(f"{error}: deliver with the code of this release") from None

    @cached_property
    def endpoints(self) -> dict[str, EndpointSettings]:
        """Short name in the stage's file -> endpoint."""
        return {name: endpoint.settings for name, endpoint in self.plan.endpoints.items()}

    @property
    def versions(self) -> dict[str, dict[str, str]]:
        """Short name of the endpoint -> model -> version."""
        return {
            name: {model: planned.version for model, planned in endpoint.models.items()}
            for name, endpoint in self.plan.endpoints.items()
        }

    @contextmanager
    def with_template(self, stack: str, template: Template) -> Iterator[Path]:
        """Provide the folder of a copy of the assembly in which `stack` has another template.

        The cdk CLI uploads each template under the hash of its content, and skips an upload if
        that hash exists. Therefore the copy has the hash of the new template.
        """
        manifest = (self.folder / MANIFEST).read_text()
        properties = json.loads(manifest)["artifacts"][stack]["properties"]
        old_hash = Path(properties["stackTemplateAssetObjectUrl"]).stem
        text = json.dumps(template, indent=1)
        new_hash = hashlib.sha256(text.encode()).hexdigest()
        assets = f"{stack}.assets.json"
        contents = {
            MANIFEST: manifest.replace(old_hash, new_hash),
            assets: (self.folder / assets).read_text().replace(old_hash, new_hash),
            f"{stack}{SUFFIX}": text,
        }
        with TemporaryDirectory(prefix="delivery-") as folder:
            for path in self.folder.iterdir():
                if path.name not in contents:
                    Path(folder, path.name).symlink_to(path.resolve())
            for name, content in contents.items():
                Path(folder, name).write_text(content)
            yield Path(folder)


@contextmanager
def open_assembly(release: ReleaseArtefact, stage: str) -> Iterator[Assembly]:
    """Provide a private copy of a stage's assembly in a release, during the `with` block.

    Raise `InvalidRelease` if a file does not have its digest; `NotSynthesised` if the release has
    no assembly of the stage, or one with content that no review has compared; `NotDelivered` if it
    has a stack of another stage.
    """
    if not release.part(stage):
        stages = sorted({name.partition("/")[0] for name in release.files if "/" in name})
        raise NotDelivered(
            f"release {release.name} has no stage {stage!r}: its stages are "
            f"{', '.join(stages) or 'none'}"
        )
    with release.verified_copy(stage) as folder:
        for stack in read_synthesis(folder, stage).templates:
            if not stack.startswith(f"{stage}-"):
                raise NotDelivered(f"release {release.name}: {stack} is not a stack of {stage}")
        yield Assembly(folder / stage, stage)
