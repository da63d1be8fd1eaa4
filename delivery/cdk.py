"""The cdk CLI commands that a delivery runs."""

from pathlib import Path
from typing import Any

from botocore.exceptions import ClientError

from delivery import cdk_cli
from delivery.errors import explain_error
from delivery.steps import say

EXECUTIONS_PER_STACK = 8
"""Concurrent Lambda executions that the builds of one stack need: two for each of the four that
`ModelBuilder.MAX_CONCURRENT_BUILDS` allows, of the CDK's provider and of its handler."""


def parallel_stacks(functions: Any, stacks: int) -> int:
    """Return how many of `stacks` stacks the account's Lambda quota allows to deploy in parallel.

    A new account may have 10 concurrent executions. The CDK's provider reports a throttled handler
    as a failed build. `functions` is a Lambda client.
    """
    try:
        quota = functions.get_account_settings()["AccountLimit"]["ConcurrentExecutions"]
    except ClientError as error:  # the delivery role of an older version
        say(f"  ? quota of concurrent Lambda executions: {explain_error(error)}")
        return stacks
    allowed = max(1, min(stacks, int(quota) // EXECUTIONS_PER_STACK))
    if allowed < stacks:
        say(
            f"  the account allows {quota} concurrent Lambda executions: {allowed} of {stacks} "
            "stacks are deployed in parallel (Service Quotas, Lambda, Concurrent executions)"
        )
    return allowed


def deploy(
    assembly: Path, *stacks: str, concurrency: int = 1, exclusively: bool = False
) -> cdk_cli.CdkResult:
    """Deploy stacks of an assembly, up to `concurrency` independent ones in parallel.

    With `exclusively`, do not deploy the stacks that they depend on. When one stack fails, the CLI
    waits for the stacks that it has started.
    """
    options = ["--concurrency", str(concurrency), "--require-approval", "never"]
    return _run("deploy", assembly, stacks, *options, *(["--exclusively"] * exclusively))


def publish_assets(assembly: Path, *stacks: str) -> cdk_cli.CdkResult:
    """Upload the assets of stacks, as `deploy` does."""
    opt_in = "--unstable=publish-assets"
    return _run("publish-assets", assembly, stacks, "--exclusively", opt_in)


def _run(command: str, assembly: Path, stacks: tuple[str, ...], *options: str) -> cdk_cli.CdkResult:
    title = f"cdk {command}: {', '.join(stacks)}"
    return cdk_cli.run(command, *stacks, "--app", str(assembly), *options, title=title)
