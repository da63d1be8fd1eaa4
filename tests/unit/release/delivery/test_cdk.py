"""How the cdk CLI is run, with a stand-in for it."""

import json
import sys
from pathlib import Path

import pytest

from release.delivery import cdk

STAND_IN = f"""#!{sys.executable}
import json, pathlib, signal, sys, time
here = pathlib.Path(__file__).parent
(here / "arguments").write_text(json.dumps(sys.argv[1:]))
signal.signal(signal.SIGTERM, lambda *_: ((here / "ended").touch(), sys.exit(1)))
print("prod-text | 1/3 | UPDATE_IN_PROGRESS", flush=True)
while (here / "goes on").exists():
    time.sleep(0.01)
sys.exit((here / "fails").exists())
"""


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "cdk"
    path.write_text(STAND_IN)
    path.chmod(0o755)
    monkeypatch.setattr(cdk, "CLI", path)
    return tmp_path


def test_stacks_are_deployed_side_by_side_and_what_is_said_is_printed(
    cli: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cdk.deploy(Path("out"), "prod-text", "prod-vision")
    arguments = json.loads((cli / "arguments").read_text())
    assert arguments[:3] == ["deploy", "prod-text", "prod-vision"]
    assert arguments[arguments.index("--concurrency") + 1] == "2"
    assert capsys.readouterr().out == "  prod-text | 1/3 | UPDATE_IN_PROGRESS\n"


def test_a_deploy_that_failed_has_failed(cli: Path) -> None:
    (cli / "fails").touch()
    assert not cdk.deploy(Path("out"), "prod-text")


def test_an_interrupted_deploy_begins_no_other_stack(
    cli: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (cli / "goes on").touch()

    def interrupted(_: str) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(cdk, "say", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cdk.deploy(Path("out"), "prod-text")
    (cli / "goes on").unlink()
    assert (cli / "ended").exists()
