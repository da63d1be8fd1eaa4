"""A local SageMaker, with a real Triton, for each test module."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.tiny_models import Barrier, barriers


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.local)


@pytest.fixture(scope="module")
def local_sagemaker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSageMaker]:
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as running:
        yield running


@pytest.fixture(scope="module")
def new_barrier() -> Iterator[Callable[[], Barrier]]:
    with barriers() as make:
        yield make
