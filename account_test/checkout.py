"""A copy of the app with a test stage and a test model, which a run edits and deploys."""

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from account_test.names import ENDPOINT, MODEL, STAGE
from release.tree import Tree

APP = (
    *("app.py", "cdk.json", "checked_yaml.py", "stage_record.py", "requirements.txt"),
    *("constructs", "model_build", "platform_facts", "requirements", "stacks", "stages"),
)
"""The files and folders of the repository that the app needs, except models."""
TEMPLATES = Path(__file__).parent


def copy_app(repository: Path, destination: Path) -> None:
    """Copy the app, without models."""
    for name in APP:
        source = repository / name
        if source.is_dir():
            shutil.copytree(
                source, destination / name, ignore=shutil.ignore_patterns("__pycache__")
            )
        else:
            shutil.copy2(source, destination)
    (destination / "models").mkdir()


@dataclass(frozen=True)
class Checkout:
    """The copy of the app in the folder `path`."""

    path: Path

    @classmethod
    def create(cls, repository: Path, path: Path, region: str | None) -> "Checkout":
        """Copy the app, the stage and its model to `path`, which is deleted first."""
        shutil.rmtree(path, ignore_errors=True)
        path.mkdir(parents=True)
        copy_app(repository, path)
        shutil.copytree(TEMPLATES / MODEL, path / "models" / MODEL)
        checkout = cls(path)
        stage = yaml.safe_load((TEMPLATES / "stage.yaml").read_text())
        checkout._write(stage | ({"region": region} if region else {}))
        return checkout

    @property
    def tree(self) -> Tree:
        """The copy as a `release.tree.Tree`."""
        return Tree(self.path)

    @property
    def assembly(self) -> Path:
        """The folder of the cloud assembly, written by `synthesise`."""
        return self.path / "cdk.out"

    @property
    def stage(self) -> dict[str, Any]:
        """The content of the stage file."""
        content: dict[str, Any] = yaml.safe_load(self._file.read_text())
        return content

    @property
    def instance_type(self) -> str:
        """The instance type of the endpoint."""
        return str(self.stage["endpoints"][ENDPOINT]["instance_type"])

    def configure(self, **settings: Any) -> None:
        """Change settings of the endpoint in the stage file."""
        stage = self.stage
        stage["endpoints"][ENDPOINT].update(settings)
        self._write(stage)

    def set_factor(self, factor: int) -> None:
        """Change the factor of the test model, which creates a new version."""
        path = self.path / "models" / MODEL / MODEL / "1" / "model.py"
        text = path.read_text().replace("FACTOR = 2", f"FACTOR = {factor}")
        path.write_text(text)

    def synthesise(self) -> None:
        """Write the cloud assembly. Raise `NotSynthesised`."""
        self.tree.synthesise(STAGE, to=self.assembly)

    def _write(self, stage: dict[str, Any]) -> None:
        self._file.write_text(yaml.safe_dump(stage, sort_keys=False))

    @property
    def _file(self) -> Path:
        return self.path / "stages" / f"{STAGE}.yaml"
