"""Test of the commands for the cdk CLI."""

from pathlib import Path
from typing import Any

import pytest

from delivery import cdk, cdk_cli

RESULT = cdk_cli.CdkResult(succeeded=True, error_lines=())


def test_options_of_deploy_and_publish_assets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str, title: str, **_: Any) -> cdk_cli.CdkResult:
        runs.append((title, *arguments))
        return RESULT

    monkeypatch.setattr(cdk_cli, "run", run)
    assert cdk.deploy(Path("out"), "prod-text", "prod-vision", concurrency=2) is RESULT
    assert cdk.publish_assets(Path("out"), "prod-text") is RESULT
    stacks = "prod-text", "prod-vision"
    assert runs == [
        (
            "cdk deploy: prod-text, prod-vision",
            *("deploy", *stacks, "--app", "out", "--concurrency", "2"),
            *("--require-approval", "never"),
        ),
        (
            "cdk publish-assets: prod-text",
            *("publish-assets", "prod-text", "--app", "out", "--exclusively"),
            "--unstable=publish-assets",
        ),
    ]
