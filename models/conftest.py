"""Fixtures that build models with the command line and serve them with a real Triton."""

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

RELEASE = "24.09"  # the SageMaker release closest to the local Triton
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
TIMEOUT = 3600.0
"""Time-out in seconds, long enough for a busy machine."""

# By default, torch's threads use CPU time while they wait for each other.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")

Array = npt.NDArray[Any]
Arrays = dict[str, Array]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.models)


@dataclass(frozen=True)
class ServedModel:
    """A built model in a multi-model container."""

    archive: Path
    manifest: dict[str, Any]
    server: TritonServer

    def invoke(self, inputs: Arrays) -> Arrays:
        """Send a binary request in the form that SageMaker forwards; return the outputs."""
        tensors = []
        for name, array in inputs.items():
            tensor = InferInput(name, list(array.shape), np_to_triton_dtype(array.dtype))
            tensor.set_data_from_numpy(array, binary_data=True)
            tensors.append(tensor)
        names = [output["name"] for output in self.manifest["signature"]["outputs"]]
        outputs = [InferRequestedOutput(name, binary_data=True) for name in names]
        body, length = InferenceServerClient.generate_request_body(tensors, outputs=outputs)
        response = self.server.invoke(self.archive.name, body, f"{BINARY}{length}", timeout=TIMEOUT)
        header = int(response.headers["Content-Type"].removeprefix(BINARY))
        result = InferenceServerClient.parse_response_body(response.body, header_length=header)
        return {name: result.as_numpy(name) for name in names}


@pytest.fixture(scope="session")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("archives")


@pytest.fixture(scope="session")
def server(archives: Path) -> Iterator[TritonServer]:
    with serving.serve(archives, load_seconds=TIMEOUT) as server:
        yield server


@pytest.fixture(scope="session")
def serve(archives: Path, server: TritonServer) -> Callable[[Path], ServedModel]:
    """A function that builds a model once, for the container."""

    @cache
    def build(model: Path) -> ServedModel:
        # In this process, because a new process would import torch and transformers again.
        with redirect_stdout(io.StringIO()) as output:
            target = BuildTarget(release=RELEASE).with_python(find_triton().model_python.version)
            command = ["build", str(model), "--target", str(target)]
            command += ["--output", str(archives), "--json"]
            command += ["--no-load", "the test loads it"]
            assert model_build.main(command) == 0
        manifest = json.loads(output.getvalue())
        return ServedModel(Path(manifest["path"]), manifest, server)

    return build


@pytest.fixture
def assert_close(capsys: pytest.CaptureFixture[str]) -> Callable[..., None]:
    """A function that asserts a maximum difference relative to the largest expected value."""

    def check(title: str, actual: Array, expected: Array, *, relative: float) -> None:
        assert actual.shape == expected.shape
        difference = np.max(np.abs(actual - expected)) / np.max(np.abs(expected))
        with capsys.disabled():
            print(
                f"\n  {title}: relative difference {difference:.1e} ({relative:.0e} allowed)",
                end=" ",
            )
        assert difference <= relative

    return check
