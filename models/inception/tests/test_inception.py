"""Triton against DALI and Keras in the recipe's own environment."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from local_sagemaker.serving import ServingError
from model_build.export import environments
from model_build.progress import Printer

MODEL = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def pictures(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two JPEG files of different sizes."""
    folder = tmp_path_factory.mktemp("pictures")
    paths = []
    for height, width in ((240, 320), (411, 299)):
        rows, columns = np.mgrid[0:height, 0:width]
        colours = [rows * 255 // height, columns * 255 // width, (rows + columns) // 2 % 256]
        path = folder / f"{height}x{width}.jpg"
        Image.fromarray(np.stack(colours, axis=-1).astype(np.uint8)).save(path, quality=95)
        paths.append(path)
    return paths


@pytest.fixture(scope="module")
def expected(pictures: list[Path], tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    to = tmp_path_factory.mktemp("expected") / "answers.npz"
    order = {
        "source": "tests/reference.py",
        "folder": str(MODEL),
        "seed": 3,
        "pictures": [str(path) for path in pictures],
        "to": str(to),
    }
    environments.run_script(
        MODEL / "requirements-export.txt",
        Path(__file__).parent / "reference.py",
        order,
        progress=Printer("reference"),
    )
    return dict(np.load(to))


def _bytes_of(path: Path) -> Any:
    return np.frombuffer(path.read_bytes(), np.uint8)[None]


def test_the_endpoint_answers_as_dali_and_keras_do(
    serve: Callable[[Path], Any],
    pictures: list[Path],
    expected: dict[str, Any],
    agree: Callable[..., None],
) -> None:
    model = serve(MODEL)
    result = np.concatenate(
        [model.ask({"INPUT": _bytes_of(path)})["PREDICTIONS"] for path in pictures]
    )
    agree("inception, Triton and Keras", result, expected["predictions"], relative=1e-4)


def test_dali_decodes_and_resizes_much_as_tensorflow_does(expected: dict[str, Any]) -> None:
    difference = np.abs(expected["decoded"] - expected["by_tensorflow"])
    assert np.mean(difference) < 0.02  # of values from -1 to 1; the filters are not the same


def test_a_broken_picture_fails_its_own_request_only(
    serve: Callable[[Path], Any], pictures: list[Path], expected: dict[str, Any]
) -> None:
    model = serve(MODEL)
    whole = _bytes_of(pictures[0])
    with pytest.raises(ServingError, match="pipeline"):
        model.ask({"INPUT": whole[:, :200]})
    result = model.ask({"INPUT": whole})["PREDICTIONS"]
    np.testing.assert_allclose(result[0], expected["predictions"][0], atol=1e-6)
