"""The preflight of a delivery, before anything changes."""

import boto3

from delivery.assembly import Assembly
from delivery.errors import NotDelivered
from delivery.preflight.account import Account, NoCredentials, caller
from delivery.preflight.checks import run_checks
from delivery.preflight.findings import Verdict, table
from delivery.steps import say, step


def run_preflight(
    assembly: Assembly, session: boto3.Session, *, ignore_findings: bool = False
) -> None:
    """Run the preflight of an assembly.

    Raise `NotDelivered` with the findings that would make the deploy fail; with `ignore_findings`,
    only print them.
    """
    with step("check the account (make preflight)"):
        try:
            identity = caller(session)
            account = Account(session, identity, assembly.tree, assembly.stage, assembly.folder)
        except NoCredentials as error:
            raise NotDelivered(f"no credentials: {error}") from None
        findings = list(run_checks(account))
        refused = [finding for finding in findings if finding.verdict is Verdict.REFUSED]
        if refused and not ignore_findings:
            raise NotDelivered(
                f"the preflight failed:\n{table(refused)}\n  Nothing was changed. If the preflight "
                "is wrong: make deliver ... IGNORE_PREFLIGHT=1"
            )
    for finding in findings:
        if finding.verdict is not Verdict.OK:
            mark = "!" if finding.verdict is Verdict.REFUSED else "? not checked:"
            say(f"{mark} {finding.subject}: {finding.message}")
