"""Comparison of Triton with DALI and Keras in the recipe's environment."""

import tarfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from local_sagemaker.serving import ServingError
from model_build import __main__ as model_build
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
    """The outputs of DALI, TensorFlow and Keras without Triton, by name."""
    to = tmp_path_factory.mktemp("expected") / "outputs.npz"
    request = {
        "source": "tests/reference.py",
        "folder": str(MODEL),
        "seed": 3,
        "pictures": [str(path) for path in pictures],
        "to": str(to),
    }
    environments.run_script(
        MODEL / "requirements-export.txt",
        Path(__file__).parent / "reference.py",
        request,
        progress=Printer("reference"),
    )
    return dict(np.load(to))


def _read_jpeg(path: Path) -> Any:
    return np.frombuffer(path.read_bytes(), np.uint8)[None]


def test_outputs_are_close_to_dali_and_keras(
    serve: Callable[[Path], Any],
    pictures: list[Path],
    expected: dict[str, Any],
    assert_close: Callable[..., None],
) -> None:
    model = serve(MODEL)
    outputs = [model.invoke({"INPUT": _read_jpeg(path)})["PREDICTIONS"] for path in pictures]
    title = "inception, Triton and Keras"
    assert_close(title, np.concatenate(outputs), expected["predictions"], relative=1e-4)


def test_decoded_pictures_are_close_to_tensorflows(expected: dict[str, Any]) -> None:
    difference = np.abs(expected["dali_images"] - expected["tensorflow_images"])
    assert np.mean(difference) < 0.02  # of values from -1 to 1; the filters differ


def test_build_for_a_gpu_freezes_the_graph_with_tensorflow(tmp_path: Path) -> None:
    """The recipe's gate compares the frozen graph with the Keras model."""
    command = ["build", str(MODEL), "--target", "cuda-24.09-sm75", "--output", str(tmp_path)]
    assert model_build.main([*command, "--no-load", "Triton's backend needs a GPU"]) == 0
    (archive,) = tmp_path.glob("*.tar.gz")
    with tarfile.open(archive) as members:
        assert "classifier/1/model.graphdef" in members.getnames()


def test_weights_of_keras_applications_are_loaded(expected: dict[str, Any]) -> None:
    np.testing.assert_array_equal(expected["loaded_predictions"], expected["predictions"])


def test_invalid_picture_fails_only_its_own_request(
    serve: Callable[[Path], Any], pictures: list[Path], expected: dict[str, Any]
) -> None:
    model = serve(MODEL)
    picture = _read_jpeg(pictures[0])
    with pytest.raises(ServingError, match="pipeline"):
        model.invoke({"INPUT": picture[:, :200]})
    result = model.invoke({"INPUT": picture})["PREDICTIONS"]
    np.testing.assert_allclose(result[0], expected["predictions"][0], atol=1e-6)
