from contextlib import chdir
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from platform_facts.rules.checked_yaml import FileProblem, InvalidFile, line_of, load


class Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Circle(Strict):
    kind: Literal["circle"]
    radius: float


class Square(Strict):
    kind: Literal["square"]
    side: float

    @field_validator("side")
    @classmethod
    def _is_positive(cls, side: float) -> float:
        if side <= 0:
            raise ValueError("write a side above 0")
        return side


class Label(Strict):
    text: str
    size: int = 1


class Border(Strict):
    colour: str = "black"
    thick: bool = False
    round: bool = False


Slug = Annotated[str, Field(pattern="^[a-z]+$")]


class Drawing(Strict):
    title: str
    width: Annotated[int, Field(ge=1)] = 1
    label: Label | None = None
    border: Border = Border()
    tags: list[str] = []
    labels: list[Label] = []
    notes: dict[str, Label] | None = None
    frame: Annotated[Circle | Square, Field(discriminator="kind")] | None = None
    layers: Annotated[dict[Slug, int], Field(min_length=1)] | None = None
    shapes: dict[str, Annotated[Circle | Square, Field(discriminator="kind")]] = {}


def problems_of(text: str) -> list[str]:
    """Load a text as drawing.yaml; return its problems."""
    with TemporaryDirectory() as folder, chdir(folder):
        path = Path(folder, "drawing.yaml")
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InvalidFile) as raised:
            load(path, Drawing)
        lines = [str(problem) for problem in raised.value.problems]
        assert str(raised.value) == "\n".join(lines)
    return lines


def test_valid_file_is_loaded_with_defaults(tmp_path: Path) -> None:
    path = tmp_path / "drawing.yaml"
    path.write_text(
        "# Zürich\n"
        "title: Zürich\n"
        "label: {text: a}\n"
        "shapes:\n"
        "  sun: {kind: circle, radius: 1}\n"
        "  box: {kind: square, side: 2.5}\n",
        encoding="utf-8",
    )
    assert load(path, Drawing) == Drawing(
        title="Zürich",
        label=Label(text="a"),
        shapes={"sun": Circle(kind="circle", radius=1), "box": Square(kind="square", side=2.5)},
    )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        # Invalid YAML
        ("title: [a\nwidth: 2\n", "2: not YAML: expected ',' or ']', but got ':'"),
        # Unknown keys
        ("title: a\nnotes:\n  b:\n    text: c\n    siez: 2\n",
         "5: notes.b.siez: unknown key; write size"),
        ("title: a\nframe:\n  kind: square\n  side: 1\n  sied: 2\n",
         "5: frame.sied: unknown key; write side"),
        # Missing keys
        ("width: 2\n", "1: title: missing: add this key"),
        ("title: 25.09\n", "1: title: write a text in quotes, not 25.09"),
        ("title: a\nlayers: {}\n", "2: layers: has 0 entries: write 1 or more"),
        ("title: a\nlayers:\n  Top: {b: 1}\n",
         "3: layers.Top: string should match pattern '^[a-z]+$', not 'Top'\n"
         "3: layers.Top: write a valid integer, not {'b': 1}"),
        ("title: a\nborder:\n", "2: border: write keys below it, each with its value, not nothing"),
        # Missing union tags
        ("title: a\nshapes:\n  box: {side: 1}\n",
         "3: shapes.box: missing: write 'kind', and the keys that belong to it"),
        # Invalid scalars, tags and keys
        ("title: a\ntags:\n- !mine b\n", "3: tags.0: unknown tag !mine: remove it"),
        ("title: a\non: 1\n", "2: on: the key is of type bool, not text: write it in quotes"),
        ("title: a\n? [b, c]\n: d\n", "2: a key is a list or mapping: write a text"),
        ("title: a\nwidth: \0\n",
         "2: a character is not UTF-8, or not allowed in YAML: save the file as UTF-8"),
        # Validators
        ("title: a\nshapes:\n  box:\n    kind: square\n    side: -1\n",
         "5: shapes.box.side: write a side above 0"),
        # No mapping
        *((text, "1: write a mapping of keys to values") for text in ("", "- title\n", "3\n")),
        # Too many levels
        *((f"title: {text}\n", "1: lists and mappings are nested too deeply: write fewer levels")
          for text in ("[" * 2000 + "]" * 2000, "{a: " * 2000 + "b" + "}" * 2000)),
        # Duplicate keys, at the second line
        ("title: a\nlabel:\n  text: a\n  size: 1\n  text: b\ntitle: b\nshapes:\n"
         "  sun: {kind: circle, radius: 1}\n  sun: {kind: circle, radius: 2}\n"
         "labels:\n- text: a\n  text: b\n",
         "5: label.text: duplicate key: keep one\n6: title: duplicate key: keep one\n"
         "9: shapes.sun: duplicate key: keep one\n12: labels.0.text: duplicate key: keep one"),
        # All problems, in the order of lines
        ("zoom: 3\nlabel:\n  size: big\nshapes:\n  sun:\n    kind: circle\n"
         "  box: {kind: square, side: 0}\nwidth: 0\n",
         "1: title: missing: add this key\n"
         f"1: zoom: unknown key; known keys: {', '.join(sorted(Drawing.model_fields))}\n"
         "2: label.text: missing: add this key\n"
         "3: label.size: write a valid integer, unable to parse string as an integer, not 'big'\n"
         "5: shapes.sun.radius: missing: add this key\n"
         "7: shapes.box.side: write a side above 0\n8: width: 0 is out of range: write 1 or more"),
    ],
)  # fmt: skip
def test_invalid_file_error_has_line_key_and_fix(text: str, problem: str) -> None:
    assert problems_of(text) == [f"drawing.yaml:{line}" for line in problem.splitlines()]


def test_invalid_utf_8_is_an_error_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "drawing.yaml"
    path.write_bytes("title: Zürich\ntags:\n- Genève\n".encode("latin-1"))
    with pytest.raises(InvalidFile) as raised:
        load(path, Drawing)
    assert raised.value.problems == [
        FileProblem(
            path, 1, "", "a character is not UTF-8, or not allowed in YAML: save the file as UTF-8"
        )
    ]
    path.write_bytes(b"title: a\r\nwidth: 2\r\ntags:\r\n- \xff\r\n")
    with pytest.raises(InvalidFile, match=r"drawing\.yaml:4: a character is not UTF-8"):
        load(path, Drawing)


def test_repeated_alias_is_visited_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [!x b]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = tmp_path / "drawing.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidFile) as raised:
        load(path, Drawing)
    assert [problem.key for problem in raised.value.problems] == ["a0.0"]


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_arbitrary_bytes_are_an_error(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_bytes.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidFile):
        load(path, Drawing)


def test_anchors_and_merges_are_resolved(tmp_path: Path) -> None:
    merged = "title: a\nlabel: &l\n  text: b\nlabels:\n  - *l\n  - <<: *l\n    size: 2\n"
    path = tmp_path / "merged.yaml"
    path.write_text(merged)
    assert load(path, Drawing).labels == [Label(text="b"), Label(text="b", size=2)]
    assert problems_of(merged.replace("    size: 2", "    siez: 2")) == [
        "drawing.yaml:7: labels.1.siez: unknown key; write size"
    ]


FILE_WITH_LINES = """\
description: x
files:
  a/1/model.onnx:
    to: onnx
    sizes: [1, 2]
  "b/1/c": { to: copy }
steps:
  - one
  - name: two
merged: &shared
  key: x
other: *shared
"""


@pytest.mark.parametrize(
    ("keys", "line"),
    [
        ((), 1),
        (("files",), 2),
        (("files", "a/1/model.onnx", "to"), 4),
        (("files", "b/1/c", "to"), 6),
        (("steps", 1), 9),
        (("other", "key"), 11),
        (("files", "a/1/model.onnx", "gate"), 3),  # missing: line of the nearest parent
        (("nothing", "at", "all"), 1),
    ],
)
def test_line_of_key_or_its_nearest_parent(
    tmp_path: Path, keys: tuple[str | int, ...], line: int
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(FILE_WITH_LINES)
    assert line_of(path, *keys) == line
