"""CDK assets of model sources contain the same files as the repository."""

from pathlib import Path

from aws_cdk import App, Stack

from model_build.source import ModelFolder
from stacks.endpoint_stack import sources_asset
from tests.unit.model_build.checks.cases import valid


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
