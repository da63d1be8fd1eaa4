from pathlib import Path

from model_build import ModelSource, compute_digest
from tests.unit.model_build.commands.conftest import Data, Succeed
from tests.unit.model_build.conftest import WriteFiles


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


def test_json_has_model_signatures(doubled: Path, run_json: Data) -> None:
    assert run_json("list", doubled.parent) == [
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
