import re
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ConfigDict, Field, field_validator

from checked_yaml import FileProblem, InvalidFile, line_of, load

ROOT = Path(__file__).parents[2]


def test_it_knows_no_other_room() -> None:
    """import-linter contracts take packages alone as their sources."""
    rooms = {path.parent.name for path in ROOT.glob("*/__init__.py")} | {"triton_sagemaker"}
    imported = re.findall(r"^(?:from|import) (\w+)", (ROOT / "checked_yaml.py").read_text(), re.M)
    assert imported
    assert not rooms & set(imported)


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
    legend: list[Label] | None = None
    notes: dict[str, Label] | None = None
    frame: Annotated[Circle | Square, Field(discriminator="kind")] | None = None
    layers: Annotated[dict[Slug, int], Field(min_length=1)] | None = None
    shapes: dict[str, Annotated[Circle | Square, Field(discriminator="kind")]] = {}


@pytest.fixture
def problems_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """Load a drawing's text from `drawing.yaml`, below the current folder."""
    monkeypatch.chdir(tmp_path)

    def problems(text: str) -> list[str]:
        path = tmp_path / "drawing.yaml"
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        with pytest.raises(InvalidFile) as refused:
            load(path, Drawing)
        lines = [str(problem) for problem in refused.value.problems]
        assert str(refused.value) == "\n".join(lines)
        return lines

    return problems


ProblemsOf = Callable[[str], list[str]]


def test_a_file_that_fits_arrives_as_the_schema_with_its_defaults(tmp_path: Path) -> None:
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


@given(
    title=st.text(),
    width=st.integers(min_value=1),
    tags=st.lists(st.text()),
    labels=st.lists(st.builds(Label, text=st.text(), size=st.integers()), max_size=3),
)
def test_what_yaml_writes_of_a_model_is_read_back_as_it(
    tmp_path_factory: pytest.TempPathFactory,
    title: str,
    width: int,
    tags: list[str],
    labels: list[Label],
) -> None:
    drawing = Drawing(title=title, width=width, tags=tags, labels=labels)
    path = tmp_path_factory.getbasetemp() / "written.yaml"
    path.write_text(yaml.safe_dump(drawing.model_dump()), encoding="utf-8")
    assert load(path, Drawing) == drawing


def test_a_missing_file_is_an_os_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "drawing.yaml", Drawing)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "title: [a\nwidth: 2\n",
            "drawing.yaml:2: not YAML: expected ',' or ']', but got ':'",
        ),
        (
            "title: a\n\twidth: 2\n",
            "drawing.yaml:2: not YAML: found character '\\t' that cannot start any token",
        ),
        ("title: a\nlabel: *b\n", "drawing.yaml:2: not YAML: found undefined alias 'b'"),
    ],
)
def test_what_is_not_yaml_is_refused_at_its_line(
    problems_of: ProblemsOf, text: str, problem: str
) -> None:
    assert problems_of(text) == [problem]


@pytest.mark.parametrize("text", ["", "# nothing but a comment\n", "- title\n", "title\n", "3\n"])
def test_what_is_no_mapping_is_refused(problems_of: ProblemsOf, text: str) -> None:
    assert problems_of(text) == ["drawing.yaml:1: write a mapping of keys to values"]


def test_every_duplicate_key_is_named_at_its_second_line(problems_of: ProblemsOf) -> None:
    result = problems_of("""\
        title: a
        label:
          text: a
          size: 1
          text: b
        title: b
        shapes:
          sun: {kind: circle, radius: 1}
          sun: {kind: circle, radius: 2}
        """)
    assert result == [
        "drawing.yaml:5: label.text: is there twice: keep one",
        "drawing.yaml:6: title: is there twice: keep one",
        "drawing.yaml:9: shapes.sun: is there twice: keep one",
    ]


def test_a_duplicate_key_inside_a_list_is_found_and_one_in_another_item_is_none(
    problems_of: ProblemsOf,
) -> None:
    result = problems_of("""\
        title: a
        labels:
          - text: a
          - text: b
            text: c
        """)
    assert result == ["drawing.yaml:5: labels.1.text: is there twice: keep one"]


def test_an_unknown_key_is_met_with_the_one_that_was_meant(problems_of: ProblemsOf) -> None:
    assert problems_of("title: a\nwidht: 3\n") == [
        "drawing.yaml:2: widht: unknown key; write width"
    ]


def test_an_unknown_key_like_no_other_is_met_with_all_that_are_known(
    problems_of: ProblemsOf,
) -> None:
    assert problems_of("title: a\nzoom: 3\n") == [
        f"drawing.yaml:2: zoom: unknown key; known keys: {', '.join(sorted(Drawing.model_fields))}"
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "title: a\nlabel:\n  text: b\n  siez: 2\n",
            "drawing.yaml:4: label.siez: unknown key; write size",
        ),
        (
            "title: a\nlabel:\n  text: b\n  colour: 2\n",
            "drawing.yaml:4: label.colour: unknown key; known keys: size, text",
        ),
        (
            "title: a\nlabels:\n- text: b\n- text: c\n  colour: 2\n",
            "drawing.yaml:5: labels.1.colour: unknown key; known keys: size, text",
        ),
        (
            "title: a\nshapes:\n  sun:\n    kind: circle\n    radius: 1\n    hot: 2\n",
            "drawing.yaml:6: shapes.sun.hot: unknown key; known keys: kind, radius",
        ),
        (
            "title: a\nshapes:\n  box:\n    kind: square\n    side: 1\n    sied: 2\n",
            "drawing.yaml:6: shapes.box.sied: unknown key; write side",
        ),
        (
            "title: a\nlegend:\n- text: b\n  siez: 2\n",
            "drawing.yaml:4: legend.0.siez: unknown key; write size",
        ),
        (
            "title: a\nnotes:\n  b:\n    text: c\n    siez: 2\n",
            "drawing.yaml:5: notes.b.siez: unknown key; write size",
        ),
        (
            "title: a\nframe:\n  kind: square\n  side: 1\n  sied: 2\n",
            "drawing.yaml:5: frame.sied: unknown key; write side",
        ),
    ],
    ids=[
        *("optional", "optional, no match", "list", "union", "union's other"),
        *("optional list", "optional dict", "optional union"),
    ],
)
def test_the_known_keys_are_those_of_the_place(
    problems_of: ProblemsOf, text: str, problem: str
) -> None:
    assert problems_of(text) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("width: 2\n", "drawing.yaml:1: title: missing: add this key"),
        ("title: a\nlabel:\n  size: 2\n", "drawing.yaml:2: label.text: missing: add this key"),
        (
            "title: a\nlabels:\n- text: b\n- size: 2\n",
            "drawing.yaml:4: labels.1.text: missing: add this key",
        ),
        (
            "title: a\nshapes:\n  sun:\n    kind: circle\n",
            "drawing.yaml:3: shapes.sun.radius: missing: add this key",
        ),
    ],
    ids=["top", "optional", "list", "union"],
)
def test_a_missing_key_is_named_where_it_should_stand(
    problems_of: ProblemsOf, text: str, problem: str
) -> None:
    assert problems_of(text) == [problem]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        (
            "title: 25.09\n",
            "drawing.yaml:1: title: write a text in quotes, not 25.09",
        ),
        (
            "title: 7\n",
            "drawing.yaml:1: title: write a text in quotes, not 7",
        ),
        (
            "title: a\nlayers: {}\n",
            "drawing.yaml:2: layers: is empty: add one",
        ),
        (
            "title: a\nlayers:\n  Top: 1\n",
            "drawing.yaml:3: layers.Top: string should match pattern '^[a-z]+$', not 'Top'",
        ),
        (
            "title: a\nlayers:\n  Top: {b: 1}\n",
            "drawing.yaml:3: layers.Top: string should match pattern '^[a-z]+$', not 'Top'\n"
            "drawing.yaml:3: layers.Top: write a valid integer, not {'b': 1}",
        ),
        (
            "title: a\nwidth: 0\n",
            "drawing.yaml:2: width: 0 is out of range: write 1 or more",
        ),
        (
            "title: a\ntags:\n- b\n- [c]\n",
            "drawing.yaml:4: tags.1: write a text in quotes, not ['c']",
        ),
        (
            "title: a\ntags: b\n",
            "drawing.yaml:2: tags: write a valid list, not 'b'",
        ),
        (
            "title: a\nlabel: b\n",
            "drawing.yaml:2: label: write keys below it, each with its value, not 'b'",
        ),
        (
            "title: a\nborder:\n",
            "drawing.yaml:2: border: write keys below it, each with its value, not nothing",
        ),
        (
            "title: a\nshapes: b\n",
            "drawing.yaml:2: shapes: write keys below it, each with its value, not 'b'",
        ),
        (
            "title: a\nborder: { thick: very }\n",
            "drawing.yaml:2: border.thick: write true or false, not 'very'",
        ),
        (
            "title: a\nframe: b\n",
            "drawing.yaml:2: frame: write keys below it, each with its value, not 'b'",
        ),
        (
            "title: a\nwidth: 1.5\n",
            "drawing.yaml:2: width: write a valid integer, got a number with a fractional part, "
            "not 1.5",
        ),
        (
            "title: a\nshapes:\n  sun: {kind: circle, radius: big}\n",
            "drawing.yaml:3: shapes.sun.radius: write a valid number, unable to parse string as a "
            "number, not 'big'",
        ),
    ],
)
def test_a_wrong_type_is_named_with_what_stands_there(
    problems_of: ProblemsOf, text: str, problem: str
) -> None:
    assert problems_of(text) == problem.splitlines()


def test_a_validators_message_stands_alone_at_the_line_of_its_key(problems_of: ProblemsOf) -> None:
    result = problems_of("title: a\nshapes:\n  box:\n    kind: square\n    side: -1\n")
    assert result == ["drawing.yaml:5: shapes.box.side: write a side above 0"]


def test_an_unknown_tag_of_a_union_is_named_with_those_there_are(problems_of: ProblemsOf) -> None:
    result = problems_of("title: a\nshapes:\n  box: {kind: sqare, side: 1}\n")
    assert len(result) == 1
    assert result[0].startswith("drawing.yaml:3: shapes.box")
    for part in ("sqare", "circle", "square"):
        assert part in result[0]


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ("title: a\nframe:\n  side: 1\n", "drawing.yaml:2: frame"),
        ("title: a\nshapes:\n  box: {side: 1}\n", "drawing.yaml:3: shapes.box"),
    ],
)
def test_a_missing_tag_of_a_union_is_named_with_what_it_may_be(
    problems_of: ProblemsOf, text: str, key: str
) -> None:
    assert problems_of(text) == [f"{key}: missing: write 'kind', and the keys that belong to it"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("title: a\ntags:\n- !mine b\n", "drawing.yaml:3: tags.0: unknown tag !mine: remove it"),
        ("title: a\nlabel: !mine\n  b: c\n", "drawing.yaml:2: label: unknown tag !mine: remove it"),
        (
            "title: a\nlabel: !!python/object:os.x {}\n",
            "drawing.yaml:2: label: unknown tag tag:yaml.org,2002:python/object:os.x: remove it",
        ),
        (
            "title: 2024-13-45\n",
            "drawing.yaml:1: title: '2024-13-45' is not of type timestamp: write it in quotes",
        ),
        (
            "title: a\nwidth: !!int b\n",
            "drawing.yaml:2: width: 'b' is not of type int: write it in quotes",
        ),
        (
            "title: a\nwidth: !!bool b\n",
            "drawing.yaml:2: width: 'b' is not of type bool: write it in quotes",
        ),
        (
            "title: a\nshapes:\n  25.09: {}\n",
            "drawing.yaml:3: shapes.25.09: the key is of type float, not text: write it in quotes",
        ),
        (
            "title: a\non: 1\n",
            "drawing.yaml:2: on: the key is of type bool, not text: write it in quotes",
        ),
        ("title: a\n? [b, c]\n: d\n", "drawing.yaml:2: a key is a list or mapping: write a text"),
        (
            "title: a\ntags: &t\n- b\n- *t\n",
            "drawing.yaml:2: tags.1: write a text in quotes, not ['b', [...]]",
        ),
        (
            "title: a\nlabel: &l\n  text: {b: *l}\n",
            "drawing.yaml:3: label.text: write a text in quotes, not {'b': {'text': {...}}}",
        ),
        (
            "title: a\n<<: 3\n",
            "drawing.yaml:2: not YAML: expected a mapping or list of mappings for merging, but "
            "found scalar",
        ),
        (
            "title: a\nwidth: \0\n",
            "drawing.yaml:2: a character is not UTF-8, or not allowed in YAML: save the file as "
            "UTF-8",
        ),
    ],
)
def test_what_no_schema_could_judge_is_refused_at_its_line(
    problems_of: ProblemsOf, text: str, problem: str
) -> None:
    assert problems_of(text) == [problem]


def test_all_that_no_schema_could_judge_comes_at_once(problems_of: ProblemsOf) -> None:
    result = problems_of("title: 2024-13-45\nwidth: !x 1\nwidth: 2\n3: 4\n")
    assert [line.partition(": ")[0] for line in result] == [
        f"drawing.yaml:{line}" for line in (1, 2, 3, 4)
    ]


@pytest.mark.parametrize("text", ["[" * 2000 + "]" * 2000, "{a: " * 2000 + "b" + "}" * 2000])
def test_what_is_nested_too_deeply_is_refused(problems_of: ProblemsOf, text: str) -> None:
    assert problems_of(f"title: {text}\n") == [
        "drawing.yaml:1: lists and mappings are nested too deeply: write fewer levels"
    ]


def test_bytes_that_are_not_utf_8_are_refused_at_their_line(tmp_path: Path) -> None:
    path = tmp_path / "drawing.yaml"
    path.write_bytes("title: Zürich\ntags:\n- Genève\n".encode("latin-1"))
    with pytest.raises(InvalidFile) as refused:
        load(path, Drawing)
    assert refused.value.problems == [
        FileProblem(
            path, 1, "", "a character is not UTF-8, or not allowed in YAML: save the file as UTF-8"
        )
    ]
    path.write_bytes(b"title: a\r\nwidth: 2\r\ntags:\r\n- \xff\r\n")
    with pytest.raises(InvalidFile, match=r"drawing\.yaml:4: a character is not UTF-8"):
        load(path, Drawing)


def test_an_alias_that_is_used_often_is_walked_once(tmp_path: Path) -> None:
    lines = ["a0: &a0 [!x b]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    path = tmp_path / "drawing.yaml"
    path.write_text("\n".join(lines))
    with pytest.raises(InvalidFile) as refused:
        load(path, Drawing)
    assert [problem.key for problem in refused.value.problems] == ["a0.0"]


@given(st.binary(max_size=40) | st.text(max_size=40).map(str.encode))
def test_any_bytes_are_read_or_refused(
    tmp_path_factory: pytest.TempPathFactory, content: bytes
) -> None:
    path = tmp_path_factory.getbasetemp() / "any_bytes.yaml"
    path.write_bytes(content)
    with pytest.raises(InvalidFile):
        load(path, Drawing)


def test_all_problems_of_a_file_come_at_once_and_in_the_order_of_its_lines(
    problems_of: ProblemsOf,
) -> None:
    result = problems_of("""\
        zoom: 3
        label:
          size: big
        shapes:
          sun:
            kind: circle
          box: {kind: square, side: 0}
        width: 0
        """)
    assert result == [
        "drawing.yaml:1: title: missing: add this key",
        "drawing.yaml:1: zoom: unknown key; known keys: " + ", ".join(sorted(Drawing.model_fields)),
        "drawing.yaml:2: label.text: missing: add this key",
        "drawing.yaml:3: label.size: write a valid integer, unable to parse string as an integer, "
        "not 'big'",
        "drawing.yaml:5: shapes.sun.radius: missing: add this key",
        "drawing.yaml:7: shapes.box.side: write a side above 0",
        "drawing.yaml:8: width: 0 is out of range: write 1 or more",
    ]


def test_a_problem_below_the_current_folder_is_shown_relative_to_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = FileProblem(tmp_path / "stages" / "prod.yaml", 7, "endpoints.text", "is wrong")
    monkeypatch.chdir(tmp_path)
    assert str(problem) == "stages/prod.yaml:7: endpoints.text: is wrong"
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert str(problem) == f"{tmp_path}/stages/prod.yaml:7: endpoints.text: is wrong"


def test_a_problem_of_the_whole_file_has_no_key() -> None:
    assert str(FileProblem(Path("a.yaml"), 1, "", "is wrong")) == "a.yaml:1: is wrong"


def test_an_anchor_and_a_merge_are_read_and_checked_where_they_stand(
    tmp_path: Path, problems_of: ProblemsOf
) -> None:
    merged = "title: a\nlabel: &l\n  text: b\nlabels:\n  - *l\n  - <<: *l\n    size: 2\n"
    path = tmp_path / "merged.yaml"
    path.write_text(merged)
    assert load(path, Drawing).labels == [Label(text="b"), Label(text="b", size=2)]
    assert problems_of(merged.replace("    size: 2", "    siez: 2")) == [
        "drawing.yaml:7: labels.1.siez: unknown key; write size"
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=5),
        lambda inner: (
            st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
        ),
        max_leaves=8,
    )
)
def test_a_file_of_any_plain_yaml_is_read_or_refused_at_lines_that_it_has(
    tmp_path_factory: pytest.TempPathFactory, data: Any
) -> None:
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_text(yaml.safe_dump(data), encoding="utf-8")
    try:
        load(path, Drawing)
    except InvalidFile as error:
        lines = [problem.line for problem in error.problems]
    else:
        return
    last = len(path.read_text(encoding="utf-8").splitlines())
    assert lines == sorted(lines)
    assert 1 <= lines[0] <= lines[-1] <= max(last, 1)


# Where something stands


PLACED = """\
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
        (("description",), 1),
        (("files",), 2),
        (("files", "a/1/model.onnx"), 3),
        (("files", "a/1/model.onnx", "to"), 4),
        (("files", "a/1/model.onnx", "sizes", 1), 5),
        (("files", "b/1/c", "to"), 6),
        (("steps", 1), 9),
        (("steps", 1, "name"), 9),
        (("other", "key"), 11),
        (("files", "a/1/model.onnx", "gate"), 3),  # not there: the last that is
        (("files", "c"), 2),
        (("nothing", "at", "all"), 1),
        (("steps", 2), 7),
    ],
)
def test_the_line_of_a_key_is_the_last_that_the_file_has(
    tmp_path: Path, keys: tuple[str | int, ...], line: int
) -> None:
    path = tmp_path / "a.yaml"
    path.write_text(PLACED)
    assert line_of(path, *keys) == line
