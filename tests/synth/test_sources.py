"""CDK assets of model sources contain the same files as the repository."""

import shutil
from pathlib import Path

import pytest
from aws_cdk import App, Stack

from model_build import checks, digest
from model_build.findings import Finding
from model_build.repository import Repository
from stacks.endpoint_stack import model_source
from tests.unit.model_build.checks.cases import valid
from tests.unit.model_build.checks.cases.case import Case


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return case name -> asset folder of its model."""
    root = tmp_path_factory.mktemp("sources")
    app = App(outdir=str(root / "assembly"))
    stack = Stack(app, "Stack")
    assets = {}
    for number, case in enumerate(valid.CASES):
        folder = root / str(number)
        folder.mkdir()
        case.write(folder)
        asset = model_source(stack, f"Source{number}", folder=folder, digest=str(number))
        assets[case.name] = Path(app.outdir, asset.asset_path)
    return assets


@pytest.mark.parametrize("case", valid.CASES, ids=lambda case: case.name)
def test_asset_has_the_same_files_and_findings_as_the_model(
    case: Case, assets: dict[str, Path], tmp_path: Path
) -> None:
    model_folder, asset_folder = tmp_path / "model_folder", tmp_path / "asset_folder"
    model_folder.mkdir()
    case.write(model_folder)
    _unzip(assets[case.name], asset_folder)
    names = [file.relative_to(asset_folder) for file in digest.model_files(asset_folder)]
    assert names == [file.relative_to(model_folder) for file in digest.model_files(model_folder)]
    assert _findings(asset_folder) == _findings(model_folder)


def _unzip(asset: Path, to: Path) -> None:
    """Copy the files of an asset without empty folders, like the zip of the CDK CLI."""
    for path in asset.rglob("*"):
        if path.is_file():
            copy = to / path.relative_to(asset)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)


def _findings(folder: Path) -> list[Finding]:
    return checks.findings(Repository.read(folder, display_path=Path()), checks.SOURCE_RULES)
