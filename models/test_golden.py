"""What a delivery asks of every shipped model, asked here, and answered as its file says."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from release.delivery.golden import Golden, golden_path

MODELS = Path(__file__).parent


@pytest.mark.parametrize("name", ["bert", "inception", "minilm", "resnet50", "resnet50-onnx"])
def test_a_golden_answer_is_the_models(name: str, serve: Callable[[Path], Any]) -> None:
    path = golden_path(MODELS, name)
    assert path is not None
    golden = Golden.read(path)
    answer = serve(MODELS / name).ask({key: each.array() for key, each in golden.inputs.items()})
    assert golden.differences(answer) == []
