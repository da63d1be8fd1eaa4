import json
from pathlib import Path
from typing import Any

import pytest

from model_build.__main__ import main
from tests.processes import run_main
from tests.unit.model_build.conftest import write_files


@pytest.fixture(autouse=True)
def _working_directory(doubled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(doubled.parent.parent)


@pytest.fixture
def misnamed_models(doubled: Path) -> Path:
    """`doubled` with two findings: wrong names of both models."""
    for name in ("double", "doubled"):
        path = doubled / name / "config.pbtxt"
        path.write_text(path.read_text().replace(f'name: "{name}"', 'name: "other"'))
    return doubled


def _lint(*arguments: str) -> tuple[int, str]:
    finished = run_main(main, "lint", *arguments, code=None)
    assert finished.stderr == ""
    return finished.returncode, finished.stdout


def _findings(*arguments: str) -> tuple[int, Any]:
    code, out = _lint(*arguments, "--json")
    return code, json.loads(out)


@pytest.mark.parametrize("path", ["models", "models/doubled"])
def test_findings_have_locations_and_fail_the_command(misnamed_models: Path, path: str) -> None:
    code, out = _lint(path)
    first, second, summary = out.splitlines()
    assert code == 1
    message = 'name is "other", the directory is double: write name: "double"'
    assert first == f"models/doubled/double/config.pbtxt:3:1: {message} [model_names]"
    assert second.startswith('models/doubled/doubled/config.pbtxt:2:1: name is "other"')
    assert summary == "1 model, 2 errors, 0 warnings"


def test_only_strict_fails_for_warnings(doubled: Path) -> None:
    path = doubled / "double" / "config.pbtxt"
    path.write_text(path.read_text() + "instance_group { gpus: 0 }\n")
    code, out = _lint("models")
    first, summary = out.splitlines()
    assert (code, summary) == (0, "1 model, 0 errors, 1 warning")
    assert ": warning: the instance group pins gpus [0]: remove gpus [pinned_gpus]" in first
    assert _lint("--strict", "models") == (1, out)


def test_parse_errors_do_not_hide_other_findings(misnamed_models: Path) -> None:
    write_files(
        Path("models"),
        {
            "a/x/config.pbtxt": "backnd: 1",
            "b/recipe.yaml": "descripton: x\n",
            "c/recipe.yaml": "\n- a\n- b\n",
        },
    )
    code, data = _findings("models")
    assert code == 1
    assert [(finding["rule"], finding["path"], finding["line"]) for finding in data] == [
        ("config_parses", "models/a/x/config.pbtxt", 1),
        ("recipe_schema", "models/b/recipe.yaml", 1),
        ("recipe_schema", "models/b/recipe.yaml", 1),
        ("recipe_schema", "models/c/recipe.yaml", 1),
        ("model_names", "models/doubled/double/config.pbtxt", 3),
        ("model_names", "models/doubled/doubled/config.pbtxt", 2),
    ]
    assert data[1]["message"] == "description: missing: add this key"


def test_no_folder_is_skipped_silently(doubled: Path) -> None:
    write_files(
        doubled.parent,
        {
            "auto/auto/1/model.onnx": "",
            "deep/deep/deep/config.pbtxt": "",
            "flat/churn.onnx": "",
            "notes/README.md": "",
            "root/config.pbtxt": "",
            "__pycache__/x.pyc": "",
        },
    )
    code, out = _lint("models")
    *lines, summary, skipped = out.splitlines()
    assert (code, summary) == (1, "5 models, 6 errors, 0 warnings")
    assert skipped.startswith("models/notes is not a model: ")
    assert lines[0].startswith("models/auto/auto/1/model.onnx: has no config.pbtxt")
    assert {line.split("/")[1].split(":")[0] for line in lines} == {"auto", "deep", "flat", "root"}
    assert "move it to models/flat/flat/1/model.onnx" in "".join(lines)


def test_secret_in_a_file_is_a_warning_with_its_line(doubled: Path) -> None:
    config = doubled / "double" / "config.pbtxt"
    lines = config.read_text().splitlines()
    parameter = 'parameters { key: "api_token" value { string_value: "zk3lqwe9rtyu8opasd" } }'
    config.write_text("\n".join([*lines, parameter]))
    (doubled / "client.py").write_text("x = 1\nKEY = 'AKIAJ2X7QK5RVY4ZTB6A'\n")
    code, findings = _findings("models")
    secrets = [finding for finding in findings if finding["rule"] == "exposed_secrets"]
    assert {(Path(finding["path"]).name, finding["line"]) for finding in secrets} == {
        ("client.py", 2),
        ("config.pbtxt", len(lines) + 1),
    }
    assert {finding["level"] for finding in secrets} == {"warning"}
    assert code == 0
    assert "AKIA" not in json.dumps(findings)


def test_rules_are_listed_with_level_and_reason() -> None:
    _, rows = _findings("--rules")
    levels = {row["rule"]: row["level"] for row in rows}
    assert len(levels) == len(rows)
    assert (levels["batch_sizes"], levels["unused_batching"]) == ("error", "warning")
    assert all(row["reason"] for row in rows)
