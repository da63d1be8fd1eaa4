"""Fixtures of the local tests: a local SageMaker per test module, and a copy of the app."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Self

import pytest

from local_sagemaker import ACCOUNT
from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import Barrier, barriers
from model_build import BuildTarget
from release import checkout as checkouts
from tests import warm_app
from tests.app_copy import copy_app
from tests.local.cdk_bootstrap import bootstrap
from tests.local.permissions import unlisted_calls
from tests.processes import output_of

ROOT = Path(__file__).parents[2]

FREQUENT_POLLING = "query_interval=Duration.seconds(5)", "query_interval=Duration.seconds(3)"
"""Edit of a checkout: the builds of tests take seconds."""

BUILD_REQUIREMENTS = "requirements/build.txt"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.local)


def local_target(aws: LocalSageMaker, target: str) -> str:
    """Return a build target with the Python version of the local SageMaker."""
    return str(BuildTarget.parse(target).with_python(aws.running.python))


def stage_file(content: str) -> str:
    """Return a stage file of the local account with this content, which starts with a newline."""
    return f'account: "{ACCOUNT}"\nregion: us-east-1\nrelease: "24.09"{content}'


@dataclass(frozen=True)
class Checkout:
    """A copy of the app without models, which a test may edit and deploy with the CDK CLI."""

    path: Path
    aws: LocalSageMaker
    stage: str = "local"

    def write_stage(self, name: str, content: str) -> Self:
        """Write a stage file; return the checkout for that stage."""
        (self.path / "stages" / f"{name}.yaml").write_text(content)
        return replace(self, stage=name)

    def cdk(self, *arguments: str, code: int = 0) -> str:
        """Run the cdk CLI on the stage, which must exit with `code`; return stdout and stderr."""
        return output_of(
            str(ROOT / "node_modules" / ".bin" / "cdk"),
            *arguments,
            "-c",
            f"stage={self.stage}",
            code=code,
            cwd=self.path,
            env=self._environment,
        )

    def deploy(self, *arguments: str, code: int = 0) -> str:
        """Synthesise and deploy every stack."""
        self.synthesise()
        return self.deploy_assembly(*arguments, code=code)

    def synthesise(self) -> None:
        """Write the assembly to cdk.out. Raise `NotSynthesised`."""
        checkouts.Checkout(self.path).synthesise(self.stage, to=self.path / "cdk.out")

    def deploy_assembly(self, *arguments: str, assembly: str = "cdk.out", code: int = 0) -> str:
        """Deploy every stack of an assembly."""
        command = ("deploy", "--all", "--require-approval", "never", "--app", assembly)
        return self.cdk(*command, *arguments, code=code)

    def edit(self, path: str, old: str, new: str) -> None:
        """Replace text in a file; fail if the file does not contain it."""
        file = self.path / path
        content = file.read_text()
        assert old in content
        file.write_text(content.replace(old, new))

    @contextmanager
    def edited(self, path: str, old: str, new: str) -> Iterator[None]:
        """Replace text in a file until the `with` block ends."""
        content = (self.path / path).read_text()
        self.edit(path, old, new)
        try:
            yield
        finally:
            (self.path / path).write_text(content)

    @property
    def _environment(self) -> dict[str, str]:
        # The constructs of the copy take precedence over those installed from the repository.
        imports = os.pathsep.join([str(self.path), str(self.path / "constructs")])
        return {
            **os.environ,
            **self.aws.environment,
            "CI": "1",
            "NO_COLOR": "1",
            "PYTHONPATH": imports,
        }


@pytest.fixture(scope="module")
def module_patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def local_sagemaker(
    request: pytest.FixtureRequest,
    module_patch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[LocalSageMaker]:
    """A local SageMaker with the environment variables in `SETTINGS` of the test module.

    At the end, every recorded call must be in the permissions ledger.
    """
    for name, value in getattr(request.module, "SETTINGS", {}).items():
        module_patch.setenv(name, value)
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
        yield aws
        assert list(unlisted_calls(aws.folder.calls)) == []


@pytest.fixture(scope="module")
def new_barrier() -> Iterator[Callable[[], Barrier]]:
    with barriers() as make:
        yield make


@pytest.fixture(scope="module")
def checkout(
    local_sagemaker: LocalSageMaker,
    module_patch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Checkout:
    """A checkout of the app, in a bootstrapped account."""
    path = tmp_path_factory.mktemp("checkout")
    copy_app(ROOT, path)
    bootstrap()
    checkout = Checkout(path, local_sagemaker)
    (path / BUILD_REQUIREMENTS).write_text("")  # the packages are installed already
    checkout.edit("constructs/triton_sagemaker/handler_function.py", *FREQUENT_POLLING)
    module_patch.setattr(checkouts, "run_app", warm_app.run_app)
    return checkout
