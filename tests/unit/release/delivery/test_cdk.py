from pathlib import Path
from typing import Any

import pytest

import cdk_cli
from release.delivery import cdk

RUN = cdk_cli.CdkResult(succeeded=True, error_lines=())


def test_stacks_are_deployed_side_by_side_and_files_uploaded_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    runs: list[tuple[str, ...]] = []

    def run(*arguments: str, title: str, **_: Any) -> cdk_cli.CdkResult:
        runs.append((title, *arguments))
        return RUN

    monkeypatch.setattr(cdk_cli, "run", run)
    assert cdk.deploy(Path("out"), "prod-text", "prod-vision") is RUN
    assert cdk.publish_assets(Path("out"), "prod-text") is RUN
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
