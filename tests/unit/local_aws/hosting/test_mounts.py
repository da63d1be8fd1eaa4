import subprocess
import sys
from pathlib import Path

import pytest

from local_aws.hosting import mounts
from local_aws.prerequisites import UNSHARE, _can_unshare

pytestmark = pytest.mark.skipif(
    not _can_unshare(), reason="this machine does not let processes have mounts of their own"
)

BELOW = """\
import sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
import mounts
mounts.ROOT = Path(sys.argv[2], "ml")
mounts.show(Path(sys.argv[3]), mounts.ROOT / "models")
top = mounts.ROOT.parent
for path in sorted(top.rglob("*")):
    print(path.relative_to(top), path.is_symlink(), path.is_dir() or path.read_text())
(mounts.ROOT / "models" / "written").touch()
"""


def run(*command: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([*UNSHARE, *command], capture_output=True, text=True, check=False)


def test_a_server_sees_its_models_where_sagemaker_has_them(tmp_path: Path) -> None:
    (tmp_path / "flat" / "model").mkdir(parents=True)
    (tmp_path / "flat" / "model" / "config.pbtxt").write_text("max_batch_size: 8")
    seen = mounts.MODELS / "flat" / "model" / "config.pbtxt"
    program = (sys.executable, "-IS", mounts.__file__, str(tmp_path), str(mounts.MODELS))
    ran = run(*program, "/bin/sh", "-c", f"cat {seen}; exit 7")
    assert (ran.returncode, ran.stdout, ran.stderr) == (7, "max_batch_size: 8", "")
    assert not seen.exists()


def test_what_stands_beside_them_stays(tmp_path: Path) -> None:
    models, parent = tmp_path / "models", tmp_path / "opt"
    (parent / "python" / "bin").mkdir(parents=True)
    (parent / "python" / "bin" / "python3").write_text("a program")
    (parent / "file").write_text("a file")
    (parent / "link").symlink_to("file")
    (parent / "ml" / "hidden").mkdir(parents=True)
    models.mkdir()
    (models / "one").write_text("a model")
    below = (str(Path(mounts.__file__).parent), str(parent), str(models))
    ran = run(sys.executable, "-IS", "-c", BELOW, *below)
    assert ran.stdout.splitlines() == [
        "file False a file",
        "link True a file",
        "ml False True",
        "ml/models False True",
        "ml/models/one False a model",
        "python False True",
        "python/bin False True",
        "python/bin/python3 False a program",
    ], ran.stderr
    assert (models / "written").exists()
    assert sorted(path.name for path in parent.iterdir()) == ["file", "link", "ml", "python"]


@pytest.mark.parametrize("isolated", [True, False])
@pytest.mark.parametrize("stands", [True, False])
def test_a_server_sees_them_where_they_are_on_a_machine_that_cannot_mount(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, isolated: bool, stands: bool
) -> None:
    root = tmp_path / ("." if stands else "absent") / "ml"
    monkeypatch.setattr(mounts, "ROOT", root)
    seen = mounts.seen_at(tmp_path, root / "models", isolated=isolated)
    assert seen == (root / "models" if isolated and stands else tmp_path)
