"""What CloudFormation itself says of a deploy, before it: change sets that the cdk CLI makes."""

import sys
from collections.abc import Iterator
from contextlib import redirect_stdout

import cdk_cli
from release.exports import exporter, imports
from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, refused, unknown
from release.tree import has_transform


def check(account: Account) -> Iterator[CheckFinding]:
    """Have the cdk CLI make a change set of every stack, with the roles of `cdk bootstrap`.

    `cdk diff --method=change-set` uploads templates and no other asset, waits for CloudFormation's
    validation, and deletes the change set and a stack that it brought (createDiffChangeSet of
    aws-cdk 2.1148.1).
    """
    pages = account.client("cloudformation").get_paginator("list_exports").paginate()
    exported = {export["Name"] for page in pages for export in page["Exports"]}
    for stack, template in account.templates.items():
        missing = sorted(imports(template) - exported)
        if has_transform(template):
            message = "the template has a transform: CloudFormation would run it for the change set"
            yield refused(stack, message, "remove the transform")
        elif missing:
            yield unknown(stack, f"depends on {exporter(missing[0])}, which is not deployed")
        else:
            yield _validated(account, stack)


def _validated(account: Account, stack: str) -> CheckFinding:
    options = "--app", str(account.assembly), "--exclusively", "--method=change-set"
    with redirect_stdout(sys.stderr):
        result = cdk_cli.run("diff", stack, *options, title=f"change set of {stack}")
    if result.succeeded:
        return ok(stack, "CloudFormation would do it")
    return refused(stack, "; ".join(result.reasons), "correct the template")
