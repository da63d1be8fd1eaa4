"""What `tritonsm deploy` does before the cdk CLI."""

import argparse
from pathlib import Path

import pytest

import checked_yaml
from cli import deploy
from tests.unit.test_repository import ROOT


def test_what_is_wrong_in_the_stage_is_said_before_anything_is_begun(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def wrong(_: str) -> None:
        raise checked_yaml.InvalidFile([checked_yaml.Problem(Path("dev.yaml"), 3, "", "wrong")])

    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(deploy, "load_stage", wrong)
    monkeypatch.setattr(deploy, "_bootstrap", lambda _: pytest.fail("bootstrapped"))
    monkeypatch.setattr(deploy, "cdk", lambda *_, **__: pytest.fail("deployed"))
    with pytest.raises(checked_yaml.InvalidFile, match=r"dev\.yaml:3: wrong"):
        deploy.run(argparse.Namespace(stage="dev", local=True))
