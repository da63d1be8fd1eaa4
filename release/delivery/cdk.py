"""The cdk CLI commands that a delivery runs."""

from pathlib import Path

import cdk_cli


def deploy(assembly: Path, *stacks: str, exclusively: bool = False) -> cdk_cli.CdkResult:
    """Deploy stacks of an assembly, independent ones in parallel.

    With `exclusively`, stacks that they depend on are not deployed. When one fails, the CLI waits
    for those that it has started.
    """
    options = ["--concurrency", str(len(stacks)), "--require-approval", "never"]
    return _run("deploy", assembly, stacks, *options, *(["--exclusively"] * exclusively))


def publish_assets(assembly: Path, *stacks: str) -> cdk_cli.CdkResult:
    """Upload the assets of stacks, as `deploy` does."""
    opted_in = "--unstable=publish-assets"
    return _run("publish-assets", assembly, stacks, "--exclusively", opted_in)


def _run(command: str, assembly: Path, stacks: tuple[str, ...], *options: str) -> cdk_cli.CdkResult:
    title = f"cdk {command}: {', '.join(stacks)}"
    return cdk_cli.run(command, *stacks, "--app", str(assembly), *options, title=title)
