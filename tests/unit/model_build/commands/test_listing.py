import re
from pathlib import Path

import pytest

import model_build
from model_build import ModelSource, all_models, compute_digest
from tests.unit.model_build.commands.conftest import Data, Succeed
from tests.unit.model_build.conftest import WriteFiles

ROOT = Path(model_build.__file__).parents[1]


def test_bundled_models_are_listed(monkeypatch: pytest.MonkeyPatch, succeed: Succeed) -> None:
    monkeypatch.chdir(ROOT)
    rows = [re.split("  +", line, maxsplit=2) for line in succeed("list").splitlines()]
    assert [name for name, *_ in rows] == [model.name for model in all_models(ROOT / "models")]
    assert [
        "minilm",
        compute_digest(ROOT / "models" / "minilm")[:12],
        "Sentences to 384-dimensional embeddings (tokenizer, all-MiniLM-L6-v2, mean pooling)",
    ] in rows


def test_alternatives_and_models_without_a_recipe_are_listed(
    doubled: Path, write_files: WriteFiles, succeed: Succeed
) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: Twice a number\nalternatives:\n  faster:\n"
            "    double/1/model.py: { to: onnx, source: export.py:f, opset: 18, "
            "gate: { max_absolute_difference: 1 } }\n",
            "export.py": "",
        },
    )
    config = (doubled / "double" / "config.pbtxt").read_text()
    write_files(
        doubled.parent / "plain",
        {
            "double/config.pbtxt": config,
            "double/1/model.py": (doubled / "double/1/model.py").read_text(),
        },
    )
    write_files(doubled.parent, {"notes/README.md": ""})
    rows = [line.split() for line in succeed("list", doubled.parent).splitlines()]
    assert [row[0] for row in rows] == ["doubled", "doubled-faster", "plain"]
    assert rows[1][1] == ModelSource(doubled, "faster").digest[:12]
    assert rows[0][1] != rows[1][1]
    assert " ".join(rows[2][2:]) == "A Triton model repository, packed as it is"


def test_json_has_signatures(doubled: Path, data_of: Data) -> None:
    assert data_of("list", doubled.parent) == [
        {
            "model": "doubled",
            "version": compute_digest(doubled)[:12],
            "description": "Twice a number",
            "signature": {
                "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
                "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
                "max_batch_size": 8,
            },
        }
    ]
