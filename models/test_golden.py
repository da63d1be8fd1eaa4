"""The golden requests of the shipped models, which a delivery sends."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from plan.golden import Golden, golden_path

MODELS = Path(__file__).parent


@pytest.mark.parametrize("name", ["bert", "inception", "minilm", "resnet50", "resnet50-onnx"])
def test_outputs_match_the_golden_file(name: str, serve: Callable[[Path], Any]) -> None:
    path = golden_path(MODELS, name)
    assert path is not None
    golden = Golden.read(path)
    inputs = {key: tensor.array() for key, tensor in golden.inputs.items()}
    assert golden.differences(serve(MODELS / name).invoke(inputs)) == []
