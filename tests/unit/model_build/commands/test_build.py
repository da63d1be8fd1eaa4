import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from model_build import digest_of

if TYPE_CHECKING:
    from tests.unit.model_build.commands.conftest import Data, Fail, FakeAws, Succeed
    from tests.unit.model_build.conftest import WriteFiles

KEY = "text/cpu-24.09/doubled.tar.gz"
TARGET = ("--target", "cpu-24.09")
TO_BUCKET = (*TARGET, "--bucket", "bucket", "--key", KEY)


@pytest.fixture
def with_words(doubled: Path, write_files: "WriteFiles") -> Path:
    """`doubled` with an alternative of other words, beside the file that its backend opens."""
    return write_files(
        doubled,
        {
            "recipe.yaml": """\
description: Twice a number
files:
  double/1/words.txt: { to: copy, weights: words.txt }
alternatives:
  onnx:
    double/1/words.txt: { to: copy, weights: other.txt }
    double/1/model.onnx:
      { to: onnx, source: e.py:f, opset: 18, gate: { max_absolute_difference: 1 } }
""",
            "words.txt": "one two",
            "other.txt": "three",
            "e.py": "def f(weights): raise ValueError('the alternative is made')\n",
        },
    )


def test_as_json_a_build_tells_its_path_and_manifest(
    doubled: Path, tmp_path: Path, data_of: "Data"
) -> None:
    data = data_of("build", doubled, *TARGET, "--output", tmp_path)
    path = tmp_path / f"doubled-{digest_of(doubled)[:12]}.tar.gz"
    assert data.pop("path") == str(path)
    assert data == json.loads(path.with_name(path.name.replace(".tar.gz", ".json")).read_text())


def test_as_json_a_build_into_the_bucket_tells_whether_it_built(
    doubled: Path, aws: "FakeAws", data_of: "Data"
) -> None:
    path = f"s3://bucket/{KEY}"
    assert data_of("build", doubled, *TO_BUCKET) == {"path": path, "built": True}
    assert data_of("build", doubled, *TO_BUCKET) == {"path": path, "built": False}
    assert set(aws.s3.objects) == {KEY, KEY.replace(".tar.gz", ".json")}


def test_an_alternative_is_named_by_its_path_or_by_its_option(
    with_words: Path, tmp_path: Path, fail: "Fail", succeed: "Succeed"
) -> None:
    to = ("--output", tmp_path / "out")
    told = "failed: ValueError: the alternative is made"
    assert told in fail("build", with_words, "--alternative", "onnx", *TARGET, *to)
    assert told in fail("build", f"{with_words}-onnx", *TARGET, *to)
    succeed("build", with_words, *TARGET, *to)


def test_an_alternative_that_the_recipe_has_not_is_refused_with_those_it_has(
    with_words: Path, fail: "Fail"
) -> None:
    told = fail("build", with_words, "--alternative", "onx", *TARGET, "--output", "o", code=2)
    assert told == "no alternative onx: the recipe has onnx"
    (with_words / "recipe.yaml").write_text("description: x\n")
    told = fail("build", with_words, "--alternative", "onnx", *TARGET, "--output", "o", code=2)
    assert told == "no alternative onnx: the recipe has none"


def test_an_alternative_has_a_digest_of_its_own_to_ask_for(
    with_words: Path, aws: "FakeAws", fail: "Fail"
) -> None:
    own = digest_of(with_words)
    told = fail("build", with_words, "--alternative=onnx", "--digest", own, *TO_BUCKET)
    assert told.startswith(
        f"{with_words} has digest {digest_of(with_words, alternative='onnx')}, asked for is {own}"
    )


def test_a_repository_without_a_recipe_is_packed_as_it_is(
    doubled: Path, tmp_path: Path, succeed: "Succeed"
) -> None:
    (doubled / "recipe.yaml").unlink()
    (doubled / "doubled" / "1").mkdir()
    said = succeed("build", doubled, *TARGET, "--output", tmp_path)
    assert said == f"wrote {tmp_path}/doubled-{digest_of(doubled)[:12]}.tar.gz\n"


def test_a_broken_recipe_among_the_models_is_told_with_its_line(
    with_words: Path, write_files: "WriteFiles", fail: "Fail"
) -> None:
    write_files(with_words.parent, {"broken/recipe.yaml": "descripton: x\n"})
    told = fail("build", f"{with_words}-onnx", *TARGET, "--output", "o", code=2)
    assert "broken/recipe.yaml:1: descripton: unknown key; write description" in told
