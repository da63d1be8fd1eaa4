"""A local SageMaker for each test module, and a copy of this repository to change and deploy."""

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from account_test.checkout import copy_app
from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import Gate, gates
from model_build import BuildTarget
from release import tree
from release.tree import Tree
from tests import warm_app
from tests.local.bootstrapping import bootstrap
from tests.local.permissions import beyond_the_ledger

ROOT = Path(__file__).parents[2]

POLLED_OFTEN = "query_interval=Duration.seconds(15)", "query_interval=Duration.seconds(3)"
"""What a checkout is changed by: builds of tests take seconds."""

BUILD_REQUIREMENTS = "requirements/build.txt"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.local)


def target_in(aws: LocalSageMaker, of_image: str) -> str:
    """Return the name of a build target whose models run in a local SageMaker's Python."""
    return str(BuildTarget.parse(of_image).with_python(aws.running.python))


@dataclass(frozen=True)
class Checkout:
    """A copy of the app, without models, that a test may edit and deploy by the ordinary CLI."""

    path: Path
    aws: LocalSageMaker
    stage: str = "local"

    def cdk(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the cdk CLI on the stage; stdout and stderr come back as one text."""
        return subprocess.run(
            [str(ROOT / "node_modules" / ".bin" / "cdk"), *arguments, "-c", f"stage={self.stage}"],
            cwd=self.path,
            env=self._environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )

    def deploy(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Synthesise and deploy every stack; the assembly stays for `again`."""
        self.synthesise()
        return self.again("deploy", "--all", "--require-approval", "never", *arguments)

    def synthesise(self) -> None:
        """Write the assembly for `again`. Raises `NotSynthesised`."""
        Tree(self.path).synthesise(self.stage, to=self.path / "cdk.out")

    def again(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run the cdk CLI on the assembly that was synthesised last."""
        return self.cdk(*arguments, "--app", "cdk.out")

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace text that must be there."""
        file = self.path / path
        content = file.read_text()
        assert old in content
        file.write_text(content.replace(old, new))

    @contextmanager
    def edited(self, path: str, old: str, new: str) -> Iterator[None]:
        """Replace text that must be there, for the length of the `with` block."""
        content = (self.path / path).read_text()
        self.edit(path, old, new)
        try:
            yield
        finally:
            (self.path / path).write_text(content)

    @property
    def _environment(self) -> dict[str, str]:
        # The copy's constructs come before the installed ones, which are the repository's own.
        imports = os.pathsep.join([str(self.path), str(self.path / "constructs")])
        return {
            **os.environ,
            **self.aws.environment,
            "CI": "1",
            "NO_COLOR": "1",
            "PYTHONPATH": imports,
        }


@pytest.fixture(scope="module")
def local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSageMaker]:
    """A local SageMaker, on which in the end nobody has called what the ledger does not have."""
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
        yield aws
        assert list(beyond_the_ledger(aws.folder.calls)) == []


@pytest.fixture(scope="module")
def new_gate() -> Iterator[Callable[[], Gate]]:
    with gates() as make:
        yield make


@pytest.fixture(scope="module")
def checkout(
    local_sagemaker: LocalSageMaker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Checkout]:
    """The app as it is, in an account that is ready for it."""
    path = tmp_path_factory.mktemp("checkout")
    copy_app(ROOT, path)
    bootstrap()
    checkout = Checkout(path, local_sagemaker)
    (path / BUILD_REQUIREMENTS).write_text("")  # they are installed here: pip takes a second to see
    checkout.edit("constructs/triton_sagemaker/handler_function.py", *POLLED_OFTEN)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tree, "run_app", warm_app.run_app)
        yield checkout
