"""The linter's cases, loaded into a real Triton: an error is what it refuses."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import platform_facts
from local_sagemaker import serving
from local_sagemaker.serving import ServingError
from model_build import BuildTarget, archive, checks, recipe
from model_build.build import clear_entry_name, copy_source_files
from model_build.findings import errors
from model_build.repository import Repository
from tests.unit.model_build.checks.cases import ensembles, frameworks, layout, scheduling, tensors
from tests.unit.model_build.checks.cases import valid as valid_cases
from tests.unit.model_build.checks.cases.case import Case

pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
RELEASE = "24.09"
LOAD_SECONDS = 600.0
CASES = [
    *(*layout.CASES, *tensors.CASES, *scheduling.CASES),
    *(*ensembles.CASES, *frameworks.CASES, *valid_cases.CASES),
]
MISSING_BACKENDS = ("openvino", "tensorrt", "tensorflow", "identity")
"""Backends that the local Triton does not have."""
CRASHES = ("warm-up with too large a batch",)
"""Cases that end the local Triton 2.51: it does not refuse them."""
ACCEPTED = {
    "symbolic link as model file": "the builder: the digest does not cover the link's target",
    "two models without an ensemble": "SageMaker's front end serves any of them",
    "two ensembles": "SageMaker's front end serves any of them",
    "name other than that of the directory": "the builder removes the entry's name",
    "ensemble as backend": "SageMaker's front end serves any of the models",
    "ensemble without a platform": "SageMaker's front end serves any of the models",
    "DALI pipeline with another source": "DALI's C++ backend compares them, the stand-in does not",
    "Python model without execute": "every call fails",
    "Python model whose execute forgets its responses": "no call is answered",
    "Python model that calls another model by a fixed name": "the call of the other model fails",
    "ONNX model without outputs that gets a batch axis": "the stand-in completes nothing",
    "TorchScript model without outputs": "the C++ backend refuses it, the stand-in does not",
    "unknown accelerator": "the stand-in has no accelerators",
    "unknown precision": "the stand-in has no accelerators",
    "ONNX file without an axis of size 1": "the test's file declares a shape that it does not have",
    "ONNX file with a newer opset than the release": "the local ONNX Runtime is newer",
    "ONNX file with a newer IR version than the release": "the local ONNX Runtime is newer",
}
"""Cases with an error that the local Triton loads -> who refuses them, or why calls fail."""
REFUSED = {
    "Python model with an environment": "its archive is empty in the test",
    "Python model that imports its packages": "they are empty in the test",
    "Python model that imports its own modules": "an extension module is empty in the test",
    "DALI pipeline that Triton serializes": "the stand-in needs model.dali",
    "environment of the image": "an image of your own may have it",
    "misspelled backend": "an image of your own may have it",
    "ONNX model with a state": "the stand-in has none",
    "ONNX model with a batch input": "the stand-in has none",
}
"""Cases without an error that the local Triton refuses -> why."""


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Future[str]]]:
    """Triton's error for each case, an empty text if it loads."""
    folder = tmp_path_factory.mktemp("cases")
    (folder / "archives").mkdir()
    with (
        serving.serve(folder / "archives", load_seconds=LOAD_SECONDS) as server,
        ThreadPoolExecutor(4) as pool,
    ):

        def load(name: str) -> str:
            try:
                server.load(name)
            except ServingError as error:
                return str(error)
            return ""

        yield {
            case.name: pool.submit(_pack_and_load, case, folder / f"case{index}", load)
            for index, case in enumerate(CASES)
            if _is_comparable(case)
        }


def _pack_and_load(case: Case, folder: Path, load: Callable[[str], str]) -> str:
    folder.mkdir()
    case.write(folder)
    built = folder.with_name(f"{folder.name}-built")
    built.mkdir()
    copy_source_files(Repository.read(folder), built, BuildTarget(release=RELEASE), {})
    repository = Repository.read(built)
    if _has_entry(repository):
        clear_entry_name(repository)
    archive.pack(built, folder.parent / "archives" / f"{folder.name}.tar.gz")
    return load(f"{folder.name}.tar.gz")


def _has_entry(repository: Repository) -> bool:
    try:
        return bool(repository.entry)
    except KeyError:
        return False


def _is_comparable(case: Case) -> bool:
    """Return whether the local Triton has the case's backend, and the files are those of the case.

    A load of a Python model without its file never ends. Tree models of the cases are headers.
    """
    texts = [str(content) for content in (*case.base.values(), *case.changes.values())]
    names = (*case.base, *case.changes)
    return not (
        recipe.FILE in names
        or case.name in CRASHES
        or any(f'"{backend}' in text for backend in MISSING_BACKENDS for text in texts)
        or any('backend: "fil"' in text for text in texts)
        or any("torch_aoti" in text for text in texts)
        or any("[version_files]" in message for message in case.messages)
    )


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if _is_comparable(case)],
    ids=lambda case: case.name.replace("/", "|"),
)
def test_errors_are_what_triton_refuses(
    case: Case, results: dict[str, Future[str]], tmp_path: Path
) -> None:
    case.write(tmp_path)
    rules = checks.rules_for_release(platform_facts.release(case.release))
    findings = errors(checks.findings(Repository.read(tmp_path), rules))
    refusal = results[case.name].result()
    if case.name in ACCEPTED:
        assert (bool(findings), refusal) == (True, "")
    elif case.name in REFUSED:
        assert not findings
        assert refusal
    else:
        assert bool(findings) == bool(refusal), refusal or findings
