"""Every model as users get it: built by the command line, loaded by the real Triton."""

import io
import json
import os
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput
from tritonclient.utils import np_to_triton_dtype

from local_sagemaker import serving
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.serving import TritonServer
from model_build import BuildTarget
from model_build import __main__ as model_build

RELEASE = "24.09"  # the SageMaker one closest to the local Triton
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
PATIENCE = 3600.0
"""Seconds for what must be given a time: more than a busy machine takes."""

# torch's threads spin while they wait for each other, at the cost of whatever else runs here.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.models)


@dataclass(frozen=True)
class ServedModel:
    """A built model that a multi-model container can load."""

    archive: Path
    manifest: dict[str, Any]
    server: TritonServer

    def ask(self, inputs: Arrays) -> Arrays:
        """Send one binary request as SageMaker forwards it."""
        tensors = []
        for name, array in inputs.items():
            tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
            tensor.set_data_from_numpy(array, binary_data=True)
            tensors.append(tensor)
        names = [output["name"] for output in self.manifest["signature"]["outputs"]]
        expected = [InferRequestedOutput(name, binary_data=True) for name in names]
        body, length = InferenceServerClient.generate_request_body(tensors, outputs=expected)
        answer = self.server.invoke(self.archive.name, body, f"{BINARY}{length}", timeout=PATIENCE)
        header = int(answer.headers["Content-Type"].removeprefix(BINARY))
        result = InferenceServerClient.parse_response_body(answer.body, header_length=header)
        return {name: result.as_numpy(name) for name in names}


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="session")
def server(archives: Path) -> Iterator[TritonServer]:
    with serving.serve(archives, load_seconds=PATIENCE) as server:
        yield server


@pytest.fixture(scope="session")
def serve(archives: Path, server: TritonServer) -> Callable[[Path], ServedModel]:
    """Build a model of this folder, once, for the container to load."""

    @cache
    def served(model: Path) -> ServedModel:
        # In this process: each of its own would import torch and transformers once more.
        with redirect_stdout(io.StringIO()) as message:
            target = BuildTarget(release=RELEASE).with_python(find_triton().model_python.version)
            command = ["build", str(model), "--target", str(target)]
            command += ["--output", str(archives), "--json"]
            assert model_build.main(command) == 0
        manifest = json.loads(message.getvalue())
        return ServedModel(Path(manifest["path"]), manifest, server)

    return served


@pytest.fixture
def agree(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """Assert that answers differ by no more than a part of the largest expected value."""

    def check(what: str, actual: Array, expected: Array, *, relative: float) -> None:
        assert actual.shape == expected.shape
        difference = np.max(np.abs(actual - expected)) / np.max(np.abs(expected))
        with capsys.disabled():
            print(
                f"\n  {what}: relative difference {difference:.1e} ({relative:.0e} allowed)",
                end=" ",
            )
        assert difference <= relative

    return check
