"""CDK assets of model sources contain the same files as the repository."""

from pathlib import Path

import pytest
from aws_cdk import App, Stack

from model_build import checks, digest
from model_build.findings import Finding
from model_build.repository import Repository
from model_build.source import ModelFolder
from stacks.endpoint_stack import sources_asset
from tests.unit.model_build.checks.cases import valid
from tests.unit.model_build.checks.cases.case import Case


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return case name -> folder of its model in an asset."""
    root = tmp_path_factory.mktemp("sources")
    app = App(outdir=str(root / "assembly"))
    stack = Stack(app, "Stack")
    folders = []
    for number, case in enumerate(valid.CASES):
        folder = root / str(number)
        folder.mkdir()
        case.write(folder)
        folders.append(ModelFolder(folder))
    asset = Path(app.outdir, sources_asset(stack, "Sources", folders).asset_path)
    return {case.name: asset / str(number) for number, case in enumerate(valid.CASES)}


@pytest.mark.parametrize("case", valid.CASES, ids=lambda case: case.name)
def test_asset_has_the_same_files_and_findings_as_the_model(
    case: Case, assets: dict[str, Path], tmp_path: Path
) -> None:
    model_folder, asset_folder = tmp_path / "model_folder", assets[case.name]
    model_folder.mkdir()
    case.write(model_folder)
    names = [file.relative_to(asset_folder) for file in digest.model_files(asset_folder)]
    assert names == [file.relative_to(model_folder) for file in digest.model_files(model_folder)]
    assert _findings(asset_folder) == _findings(model_folder)


def test_expected_answers_are_in_the_asset_and_in_its_key(tmp_path: Path) -> None:
    stack = Stack(App(outdir=str(tmp_path / "assembly")), "Stack")
    keys = set()
    for number in range(2):
        folder = tmp_path / str(number) / "model"
        valid.CASES[0].write(folder)
        (folder / "tests").mkdir()
        (folder / "tests" / "golden.json").write_text(str(number))
        (folder / "tests" / "test_model.py").touch()
        asset = sources_asset(stack, f"Sources{number}", [ModelFolder(folder)])
        files = Path(tmp_path, "assembly", asset.asset_path, "model", "tests").iterdir()
        assert [(file.name, file.read_text()) for file in files] == [("golden.json", str(number))]
        keys.add(asset.s3_object_key)
    assert len(keys) == 2


def _findings(folder: Path) -> list[Finding]:
    return checks.findings(Repository.read(folder, display_path=Path()), checks.SOURCE_RULES)
