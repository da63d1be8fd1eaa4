"""A recipe with a table: each row is a model with a digest of its own."""

import io
import zipfile
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

from model_build import (
    BuildTarget,
    ModelNotFound,
    RepositoryInvalid,
    check_model,
    checks,
)
from model_build.build import build
from model_build.publishing import sources
from model_build.source import ModelFolder, Models
from platform_facts.rules.checked_yaml import InvalidFile
from tests.unit.model_build.conftest import MODEL, write_files
from tests.unit.model_build.fakes import FakeS3, ProgressLines, no_engines

CONFIG = """
backend: "python"
max_batch_size: 8
input [ { name: "X" data_type: TYPE_FP32 dims: [ 2 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 2 ] } ]
"""
FILES = {
    "recipe.yaml": """\
description: One model for each customer
for_each: customers.csv
files:
  score/1/weights.json:
    to: copy
    weights: "{weights}"
""",
    "customers.csv": "name,weights,contact\n"
    "acme,weights/acme.json,ann@example.com\nglobex,weights/globex.json,\n",
    "score/config.pbtxt": CONFIG,
    "score/1/model.py": MODEL,
    "weights/acme.json": "[1]",
    "weights/globex.json": "[2]",
    "weights/removed.json": "[3]",
}
SOURCE = "source: export.py:f, opset: 18, gate: { max_absolute_difference: 1 }"


@pytest.fixture
def fleet(tmp_path: Path) -> Path:
    return write_files(tmp_path / "models" / "fleet", FILES)


def digests(fleet: Path) -> dict[str, str]:
    return {model.name: model.digest for model in Models(fleet.parent)}


def test_rows_are_the_models_of_the_folder(fleet: Path) -> None:
    models = Models(fleet.parent)
    assert [model.name for model in models] == ["fleet-acme", "fleet-globex"]
    assert models.find("fleet-acme") == ModelFolder(fleet).model("acme")
    with pytest.raises(ModelNotFound, match=r"did you mean fleet-acme\?"):
        models.find("fleet-acne")
    with pytest.raises(InvalidFile, match=r"recipe.yaml:2: for_each: .* such as fleet-acme$"):
        check_model(models.find("fleet"))


def test_model_of_an_invalid_table_is_an_error_of_the_table(fleet: Path) -> None:
    (fleet / "customers.csv").write_text("name\nacme\nacme\n")
    with pytest.raises(InvalidFile, match=r"customers.csv:3: name: line 2 has acme, too"):
        Models(fleet.parent).find("fleet-acme")


@pytest.mark.parametrize(
    ("file", "text", "changed"),
    [
        ("weights/acme.json", "[4]", {"acme"}),
        ("weights/removed.json", "[4]", set()),
        ("score/1/model.py", MODEL + "# changed\n", {"acme", "globex"}),
        ("score/1/labels.txt", "x", {"acme", "globex"}),
        ("customers.csv", FILES["customers.csv"].replace("ann", "bob"), set()),
        ("customers.csv", FILES["customers.csv"].replace("s/globex", "s/removed"), {"globex"}),
        ("customers.csv", FILES["customers.csv"] + "initech,weights/removed.json,\n", {"initech"}),
        ("customers.csv", "weights,name\nweights/acme.json,acme\n", {"globex"}),
    ],
)
def test_change_of_a_row_changes_its_digest_only(
    fleet: Path, file: str, text: str, changed: set[str]
) -> None:
    before = digests(fleet)
    (fleet / file).write_text(text)
    after = digests(fleet)
    differences = {name for name in before | after if before.get(name) != after.get(name)}
    assert differences == {f"fleet-{name}" for name in changed}


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("customers.csv", None, "recipe.yaml:2: for_each: customers.csv does not exist: add it "),
        ("customers.csv", "", "customers.csv:1: name: the table has no such column: add one"),
        ("customers.csv", "name,weights\na\n", "customers.csv:2: has 1 values, the table 2 col"),
        ("customers.csv", "name,weights\nA_b,x\n", "customers.csv:2: name: 'A_b' is not a name: "),
        ("customers.csv", 'name,weights\na,"x\ny"\n\na,x\n',
         "customers.csv:5: name: line 3 has a, too"),
        ("customers.csv", "name,wights\nacme,x\n",
         "recipe.yaml:6: files.score/1/weights.json.weights: {weights} is no column of the"),
        ("customers.csv", "name,weights\nacme,weights/acme.json\nglobex,../x\n",
         "customers.csv:3: weights: '../x' leads out of its folder: "),
        ("customers.csv", "name,weights\nacme,weights/acme.json\nglobex,weights/x.json\n",
         "customers.csv:3: score/1/weights.json: weights weights/x.json does not exist: "),
        ("recipe.yaml", FILES["recipe.yaml"].replace("to: copy", "to: cope"),
         "recipe.yaml:4: files.score/1/weights.json: 'to' is 'cope'; write one of"),
        (
            "recipe.yaml",
            FILES["recipe.yaml"]
            + f"alternatives: {{ x: {{ score/1/model.onnx: {{ to: onnx, {SOURCE} }} }} }}\n",
            "recipe.yaml:7: alternatives: the rows of for_each are the alternatives: remove one",
        ),
    ],
)  # fmt: skip
def test_invalid_table_is_an_error_at_its_line(
    fleet: Path, monkeypatch: pytest.MonkeyPatch, file: str, text: str | None, message: str
) -> None:
    monkeypatch.chdir(fleet.parent)
    if text is None:
        (fleet / file).unlink()
    else:
        (fleet / file).write_text(text)
    with pytest.raises((InvalidFile, RepositoryInvalid)) as error:
        list(map(check_model, ModelFolder(Path("fleet")).models()))
    assert str(error.value).startswith(f"fleet/{message}")


def test_each_distinct_code_is_checked_once(fleet: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step = (
        "  score/1/table.bin: { to: onnx, "
        + SOURCE.replace("export.py:f", '"{code}.py:f"')
        + " }\n"
    )
    rows = "".join(f"r{n},weights/acme.json,{'ab'[n % 2]}\n" for n in range(20))
    write_files(
        fleet,
        {
            "recipe.yaml": FILES["recipe.yaml"] + step,
            "customers.csv": f"name,weights,code\n{rows}",
            **{f"{name}.py": "" for name in "ab"},
        },
    )
    rules = Mock(side_effect=checks.rules_for_source)
    monkeypatch.setattr(checks, "rules_for_source", rules)
    for model in ModelFolder(fleet).models():
        with pytest.raises(RepositoryInvalid, match="makes a file for the onnxruntime backend"):
            check_model(model)
    assert rules.call_count == 2


def test_build_of_a_row_has_only_its_files_and_its_source_has_its_digest(
    fleet: Path, s3: FakeS3, tmp_path: Path
) -> None:
    write_files(fleet, {"score/1/globex.json": "[2]", "tests/test_score.py": ""})
    (fleet / "customers.csv").write_text(
        "name,weights\nacme,weights/acme.json\nglobex,score/1/globex.json\n"
    )
    model = ModelFolder(fleet).model("acme")
    with build(
        model,
        name=model.name,
        target=BuildTarget(release="24.09"),
        progress=ProgressLines(),
        engines=no_engines(),
    ) as finished:
        files = {
            path.relative_to(finished.folder).as_posix(): path.read_text()
            for path in finished.folder.rglob("*")
            if path.is_file()
        }
        stored = sources.store_source(s3.bucket, finished)
    assert files.pop("score/config.pbtxt")
    assert files == {"score/1/model.py": MODEL, "score/1/weights.json": "[1]"}
    assert (stored.model, stored.alternative) == ("fleet-acme", "acme")
    unpacked = tmp_path / "unpacked"
    source = s3.objects[f"sources/{model.digest}.zip"]["Body"]
    with zipfile.ZipFile(io.BytesIO(source)) as archive:
        archive.extractall(unpacked)
    assert not (unpacked / "weights" / "globex.json").exists()
    assert not (unpacked / "tests").exists()
    assert ModelFolder(unpacked).model("acme").digest == model.digest


def test_error_of_a_built_row_names_its_line(fleet: Path) -> None:
    config = CONFIG.replace('backend: "python"', 'platform: "onnxruntime_onnx"')
    write_files(
        fleet,
        {
            "recipe.yaml": FILES["recipe.yaml"].replace("weights.json", "model.onnx"),
            "score/config.pbtxt": config,
        },
    )
    (fleet / "score/1/model.py").unlink()
    model = ModelFolder(fleet).model("globex")
    target = BuildTarget(release="24.09")
    options: Any = {"progress": ProgressLines(), "engines": no_engines()}
    with (
        pytest.raises(RepositoryInvalid, match=r"it is fleet-globex, \S+/customers\.csv:3 \["),
        build(model, name=model.name, target=target, **options),
    ):
        pass
