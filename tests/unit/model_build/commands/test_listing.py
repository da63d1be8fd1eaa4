from pathlib import Path
from typing import TYPE_CHECKING

from model_build import ModelSource, digest_of

if TYPE_CHECKING:
    from tests.unit.model_build.commands.conftest import Data, Fail, Succeed
    from tests.unit.model_build.conftest import WriteFiles


def test_alternatives_and_repositories_without_a_recipe_are_listed_too(
    doubled: Path, write_files: "WriteFiles", succeed: "Succeed"
) -> None:
    write_files(
        doubled,
        {
            "recipe.yaml": "description: Twice a number\nalternatives:\n  faster:\n"
            "    double/1/model.py: { to: torchscript, source: export.py:f, "
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


def test_as_json_a_listing_has_what_clients_send_and_get(doubled: Path, data_of: "Data") -> None:
    assert data_of("list", doubled.parent) == [
        {
            "model": "doubled",
            "version": digest_of(doubled)[:12],
            "description": "Twice a number",
            "signature": {
                "inputs": [{"name": "X", "datatype": "FP32", "shape": [-1, 2]}],
                "outputs": [{"name": "Y", "datatype": "FP32", "shape": [-1, 2]}],
                "max_batch_size": 8,
            },
        }
    ]


def test_an_empty_folder_lists_nothing(tmp_path: Path, data_of: "Data") -> None:
    assert data_of("list", tmp_path) == []


def test_a_broken_repository_is_told_with_its_findings(doubled: Path, fail: "Fail") -> None:
    (doubled / "double" / "config.pbtxt").write_text("backnd: 1")
    assert 'double/config.pbtxt:1:1: Message type "inference.ModelConfig"' in fail(
        "list", doubled.parent
    )
