"""Tests of `tritonsm lock`, with uv and an index of wheels in a folder."""

import shlex
import zipfile
from pathlib import Path

import pytest

from cli import lock
from cli.__main__ import main
from local_sagemaker.tests.support.tiny_models import times, write_python
from model_build import BuildTarget, checks
from model_build.checks.environment_versions import locked_pythons
from model_build.source import ModelFolder
from tests.processes import run_main

CODE = f"import sklearn\n{times(2)}"
WHEELS = {
    "scikit_learn-1.0-py3-none-any": ("joblib", "numpy", 'narwhals; python_version >= "3.12"'),
    "joblib-2.0-py3-none-any": (),
    "narwhals-3.0-py3-none-any": (),
    "numpy-1.26.4-py3-none-any": (),
    "old-1.0-cp310-cp310-manylinux_2_17_x86_64": (),
}
"""Wheels with the packages that they require."""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the path of a model that imports sklearn, relative to the working directory."""
    index = tmp_path / "wheels"
    index.mkdir()
    for wheel, dependencies in WHEELS.items():
        name, version, tag = wheel.split("-", 2)
        metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        metadata += "".join(f"Requires-Dist: {requirement}\n" for requirement in dependencies)
        with zipfile.ZipFile(index / f"{wheel}.whl", "w") as archive:
            wheel_text = f"Wheel-Version: 1.0\nTag: {tag}\n"
            for file, text in (("METADATA", metadata), ("WHEEL", wheel_text), ("RECORD", "")):
                archive.writestr(f"{name}-{version}.dist-info/{file}", text)
    configuration = tmp_path / "uv.toml"
    configuration.write_text(f'[pip]\nno-index = true\nfind-links = ["{index}"]\n')
    monkeypatch.setenv("UV_CONFIG_FILE", str(configuration))
    monkeypatch.chdir(tmp_path)
    return write_python(Path("models/iris"), CODE)


def _run_printed_command(folder: Path) -> None:
    """Run the command of the only finding in a model's folder."""
    (finding,) = checks.lint(ModelFolder(folder).model())
    command = shlex.split(finding.message.split("`")[1])
    assert command[0] == "tritonsm"
    assert main(command[1:]) == 0


def _packages(folder: Path) -> list[str]:
    lines = (folder / "requirements.txt").read_text().splitlines()
    assert "--hash=sha256:" in "".join(lines)
    return [line.partition(" ")[0] for line in lines if "==" in line]


def test_commands_that_lint_prints_repair_the_findings(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_python_versions", lambda _: {"3.10", "3.12"})
    _run_printed_command(model)
    assert checks.lint(ModelFolder(model).model()) == []
    assert (model / "requirements.in").read_text() == "scikit-learn\n"
    # narwhals is a dependency in Python 3.12 only; the image has numpy.
    assert _packages(model) == ["joblib==2.0", "narwhals==3.0", "scikit-learn==1.0"]
    (model / "requirements.in").unlink()
    (model / "requirements.txt").write_text("# mine\njoblib==2.0\n")
    (model / "iris/1/model.py").write_text(CODE.replace("sklearn", "joblib"))
    _run_printed_command(model)
    assert checks.lint(ModelFolder(model).model()) == []
    assert _packages(model) == ["joblib==2.0"]
    comments = "# mine\n# Made by `tritonsm lock` for Python 3.10, 3.12, from requirements.txt.\n"
    assert (model / "requirements.txt").read_text().startswith(f"{comments}joblib==2.0 ")
    problems = {
        python: [message for _, message in locked_pythons(ModelFolder(model).model(), target)]
        for python in ("3.11", "3.12")
        for target in [BuildTarget(release="24.09").with_python(python)]
    }
    assert problems["3.12"] == []
    (problem,) = problems["3.11"]
    assert "is locked for Python 3.10, 3.12, and cpu-24.09-py311 has 3.11: tritonsm lock" in problem


def test_python_versions_are_those_of_the_stages_that_serve_the_model() -> None:
    served = lock._python_versions(ModelFolder(Path("models/minilm")).model())
    assert {"3.10", "3.12"} <= served  # local and prod


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--add=old", "--python=3.10", "--python=3.12"), "old==1.0 has no wheels"),
        (("--add=missing", "--python=3.12"), "missing was not found"),
        (("--add=joblib", "--to=other"), "write --to with one of its Python models: iris"),
        ((), "models/iris has no recipe.yaml with packages: tritonsm lock models/iris --add"),
    ],
)
def test_failure_names_the_package_and_writes_nothing(
    model: Path, options: tuple[str, ...], message: str
) -> None:
    finished = run_main(main, "lock", str(model), *options, code=1)
    assert message in finished.stderr
    assert sorted(path.name for path in model.iterdir()) == ["iris"]
