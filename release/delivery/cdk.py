"""The cdk CLI commands that a delivery runs."""

from pathlib import Path

import cdk_cli


def deploy(assembly: Path, *stacks: str, exclusively: bool = False) -> cdk_cli.CdkResult:
    """Deploy stacks of an assembly, independent ones in parallel.

    With `exclusively`, do not deploy the stacks that they depend on. When one stack fails, the CLI
    waits for the stacks that it has started.
    """
    options = ["--concurrency", str(len(stacks)), "--require-approval", "never"]
    return _run("deploy", assembly, stacks, *options, *(["--exclusively"] * exclusively))


def publish_assets(assembly: Path, *stacks: str) -> cdk_cli.CdkResult:
    """Upload the assets of stacks, as `deploy` does."""
    opt_in = "--unstable=publish-assets"
    return _run("publish-assets", assembly, stacks, "--exclusively", opt_in)


def _run(command: str, assembly: Path, stacks: tuple[str, ...], *options: str) -> cdk_cli.CdkResult:
    title = f"cdk {command}: {', '.join(stacks)}"
    return cdk_cli.run(command, *stacks, "--app", str(assembly), *options, title=title)
