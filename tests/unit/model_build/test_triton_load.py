"""The choice of the rows of a table that a run loads into Triton."""

from dataclasses import replace
from pathlib import Path

from model_build.build import Build
from model_build.errors import BuildError
from model_build.manifest import LoadRecord
from model_build.progress import Progress
from model_build.source import ModelFolder
from model_build.triton_load import MAX_DRAWN_ROWS, load_drawn
from tests.unit.model_build.conftest import write_files
from tests.unit.model_build.fakes import ProgressLines

RECIPE = """\
description: x
for_each: rows.csv
files:
  double/1/weights.txt: { to: copy, weights: weights.txt }
  double/1/graph.bin:
    to: onnx
    source: "{code}.py:f"
    opset: 18
    gate: { max_absolute_difference: 1 }
"""


def test_each_code_is_loaded_and_a_few_other_rows(finished_build: Build, tmp_path: Path) -> None:
    rows = "".join(f"r{number},{'a' if number else 'b'}\n" for number in range(100))
    files = {"recipe.yaml": RECIPE, "rows.csv": f"name,code\n{rows}", "weights.txt": ""}
    folder = ModelFolder(write_files(tmp_path / "fleet", files))
    loaded = list[str]()

    def load(build: Build, _packed: Path, _progress: Progress) -> LoadRecord:
        loaded.append(build.name)
        if len(loaded) == 1:
            raise BuildError("broken weights")
        return LoadRecord(triton="2.51.0")

    load_or_refer = load_drawn(load, folder.models())
    through = dict[str, str | None]()
    for row in folder.models():
        build = replace(finished_build, source=row, name=row.name)
        try:
            record = load_or_refer(build, Path("archive"), ProgressLines())
        except BuildError:
            continue
        assert record.triton == "2.51.0"
        through[row.name] = record.through
    assert [name for name, other in through.items() if other is None] == loaded[1:]
    assert MAX_DRAWN_ROWS < len(loaded) <= MAX_DRAWN_ROWS + 3
    assert loaded[:2] == ["fleet-r0", "fleet-r1"]
    assert {other for other in through.values() if other} == {"fleet-r1"}
