"""An app runs with what its own requirements.txt pins; pip is a stand-in that writes modules."""

import json
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path

import pytest

from release.checkouts import Clone
from release.review import packages
from release.tree import NotSynthesised, Tree, templates
from tests.unit.release.review.conftest import write

APP = """
import json, os, pathlib
import six
try:
    import sixth
except ModuleNotFoundError:
    if {needs_sixth}: raise
said = {{"six": six.__file__}}
pathlib.Path(os.environ["CDK_OUTDIR"], "a.template.json").write_text(json.dumps(said))
"""


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """What pip was asked for."""
    asked: list[list[str]] = []

    def pip(lines: list[str], *, to: Path) -> None:
        asked.append(lines)
        to.mkdir()
        for line in lines:
            (to / f"{line.partition('==')[0]}.py").touch()

    monkeypatch.setattr(packages, "_pip", pip)
    return asked


@pytest.fixture
def synthesised(clone: Clone, tmp_path: Path) -> Callable[[], dict[str, str]]:
    def run() -> dict[str, str]:
        out = tmp_path / "out"
        out.mkdir(exist_ok=True)
        packages.synthesise(clone, "prod", to=out, kept=tmp_path / "kept")
        return templates(out)["a"]

    return run


Run = Callable[[], dict[str, str]]


def app(tree: Tree, *, needs_sixth: bool = False) -> None:
    write(tree, "app.py", APP.format(needs_sixth=needs_sixth))


def test_what_is_installed_as_pinned_is_used(
    clone: Clone, installed: list[list[str]], synthesised: Run
) -> None:
    app(clone)
    write(clone, "requirements.txt", f"# a comment\nsix=={version('six')}\n    # via nothing\n")
    assert "site-packages" in synthesised()["six"]
    assert installed == []


@pytest.mark.parametrize(
    ("version", "fits"), [("2.13.0+cpu", True), ("2.13.1", False), (None, False)]
)
def test_a_build_of_the_pinned_version_is_that_version(version: str | None, fits: bool) -> None:
    assert packages._fits(version, "2.13.0") is fits


def test_another_version_is_installed_where_the_app_loads_it(
    clone: Clone, installed: list[list[str]], synthesised: Run, tmp_path: Path
) -> None:
    app(clone)
    write(clone, "requirements.txt", "six==1.0\nhypothesis==1.0\n")
    assert Path(synthesised()["six"]).is_relative_to(tmp_path / "kept")
    assert installed == [["six==1.0"]]
    synthesised()
    assert installed == [["six==1.0"]]


def test_what_is_no_longer_installed_is_where_the_app_fails_without_it(
    clone: Clone, installed: list[list[str]], synthesised: Run
) -> None:
    write(clone, "requirements.txt", f"six=={version('six')}\nsixth==6.0\n")
    app(clone)
    synthesised()
    assert installed == []
    app(clone, needs_sixth=True)
    synthesised()
    assert installed == [["sixth==6.0"]]


def test_an_app_that_fails_with_its_own_packages_too_is_quoted(
    clone: Clone, installed: list[list[str]], synthesised: Run
) -> None:
    write(clone, "requirements.txt", "six==1.0\nsixth==6.0\n")
    write(clone, "app.py", "import six\nraise SystemExit('error: no such model')")
    with pytest.raises(NotSynthesised, match=r"^no such model$"):
        synthesised()
    assert installed == [["six==1.0"], ["six==1.0", "sixth==6.0"]]


def test_what_shares_a_module_is_installed_together(
    clone: Clone, installed: list[list[str]], synthesised: Run
) -> None:
    app(clone)
    shared = "aws-cdk-cloud-assembly-schema"
    pinned = f"aws-cdk-lib==2.0\n{shared}=={version(shared)}\nboto3=={version('boto3')}\n"
    write(clone, "requirements.txt", pinned)
    synthesised()
    assert installed == [[f"{shared}=={version(shared)}", "aws-cdk-lib==2.0"]]


def test_a_pin_for_another_python_does_not_count(clone: Clone) -> None:
    lines = 'Zope.Event==6.2 ; python_version > "3"\nsix==1.0 ; python_version < "3"\n-r other.in\n'
    write(clone, "requirements.txt", lines)
    assert packages.pins(clone) == {"zope-event": "6.2"}


def test_packages_that_cannot_be_installed_are_said(
    clone: Clone, monkeypatch: pytest.MonkeyPatch, synthesised: Run
) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    write(clone, "requirements.txt", "constructs==0.0.1\n")
    with pytest.raises(NotSynthesised, match=r"pins constructs==0\.0\.1, .* No matching distrib"):
        synthesised()


def test_packages_that_are_long_not_asked_for_go(
    installed: list[list[str]], tmp_path: Path
) -> None:
    for number in range(packages.KEPT + 1):
        packages.install({"six": f"1.{number}"}, tmp_path)
    assert len(list(tmp_path.iterdir())) == packages.KEPT


def test_what_an_app_loaded_is_told_also_where_it_fails(clone: Clone, tmp_path: Path) -> None:
    write(clone, "app.py", "import page\nraise SystemExit(1)")
    write(clone, "page.py", "")  # as a module beside the program that runs the app is called
    loaded = tmp_path / "loaded.json"
    with pytest.raises(NotSynthesised):
        clone.synthesise("prod", to=tmp_path, program=(str(packages.PROGRAM), str(loaded)))
    assert {"page", "runpy"} <= set(json.loads(loaded.read_text()))
