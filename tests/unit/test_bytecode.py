"""Committed bytecode never runs instead of the reviewed source."""

import importlib._bootstrap_external
import importlib.util
import shutil
import sys
from pathlib import Path

import pytest

from model_build.export import torch_source
from release.checkout import GitCheckout, NotSynthesised
from tests.tritonsm import tritonsm
from tests.unit.conftest import commit
from tests.unit.model_build.export.test_torch_source import WORKING
from tests.unit.model_build.fakes import step_context
from tests.unit.review.conftest import review_in_this_process, write_file

APP = """
import os, pathlib, part
pathlib.Path(os.environ["CDK_OUTDIR"], "ran").write_text(part.NAME)
"""


def write_hostile_bytecode(source: Path, hostile: str) -> Path:
    """Write hostile bytecode that Python uses without checking the source (PEP 552)."""
    code = compile(hostile, source, "exec")
    content = importlib._bootstrap_external._code_to_hash_pyc(code, b"\0" * 8, checked=False)  # type: ignore[attr-defined]
    path = source.parent / "__pycache__" / f"{source.stem}.{sys.implementation.cache_tag}.pyc"
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content)
    return path


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> GitCheckout:
    """Return a clone whose app imports a module that has hostile bytecode."""
    clone = GitCheckout(tmp_path.resolve() / "clone")
    write_file(clone, "app.py", APP)
    write_file(clone, "cdk.json", "{}")
    write_file(clone, "stages/prod.yaml", "region: us-east-1\n")
    write_hostile_bytecode(write_file(clone, "part.py", "NAME = 'source'"), "NAME = 'bytecode'")
    clone.git("init", "--quiet", "--initial-branch=main")
    review_in_this_process(monkeypatch)
    monkeypatch.chdir(clone.root)
    return clone


def test_synth_runs_the_source(clone: GitCheckout, tmp_path: Path) -> None:
    clone.synthesise("prod", to=tmp_path)
    assert (tmp_path / "ran").read_text() == "source"


def test_commit_with_bytecode_is_rejected(
    clone: GitCheckout, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    clone.git("add", "--force", "part.py")
    commit(clone)
    path = f"__pycache__/part.{sys.implementation.cache_tag}.pyc"
    with pytest.raises(NotSynthesised, match="compiled Python would run in place of its source"):
        clone.synthesise("prod", to=tmp_path)
    assert tritonsm(["review", "--base", "main"]) == 4
    assert f"not reviewed: {path}: compiled Python" in capsys.readouterr().err


def test_export_ignores_bytecode(tmp_path: Path) -> None:
    source = tmp_path / "export.py"
    source.write_text(WORKING)
    write_hostile_bytecode(
        source,
        WORKING.replace("x * 2", "x * 3").replace("class Doubled", "HOSTILE = 1\n\nclass Doubled"),
    )
    model = torch_source.load("export.py:doubled", step_context(tmp_path, seed=7))
    assert not hasattr(sys.modules[type(model.module).__module__], "HOSTILE")


def test_commit_with_symlink_is_rejected(
    clone: GitCheckout, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(clone.root / "__pycache__")
    (clone.root / "models").mkdir()
    (clone.root / "models" / "minilm").symlink_to("/etc")
    commit(clone)
    assert tritonsm(["review", "--base", "main"]) == 4
    assert "not reviewed: models/minilm: a symbolic link" in capsys.readouterr().err
