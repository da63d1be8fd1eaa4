"""The checks of a preflight: faults that would make a deploy fail late or after it cost money.

CloudFormation and the cdk CLI report other faults within a minute, before anything changes: the
syntax of policies, names that exist already;
`cdk diff --method=change-set` makes only those checks
(https://aws.amazon.com/blogs/devops/ship-infrastructure-faster-with-cloudformation-and-cdk-pre-deployment-validation-on-every-stack-operation/).
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from botocore.exceptions import BotoCoreError, ClientError

from delivery.preflight import existing_resources, first_deploy, images, quotas
from delivery.preflight.account import Account
from delivery.preflight.failure_reasons import failure_reason
from delivery.preflight.findings import CheckFinding, ok, refused, unknown

Check = Callable[[Account], Iterable[CheckFinding]]
Checks = Mapping[str, Check]
"""Name -> function, in the order of execution."""


def check_caller(account: Account) -> Iterator[CheckFinding]:
    """Compare the caller's account with the account in the stage's file."""
    expected, caller = account.tree.stage(account.stage).account, account.caller
    if expected is not None and expected != caller.account:
        yield refused(
            "account",
            f"these credentials are of account {caller.account}, and stages/{account.stage}.yaml "
            f"has {expected}",
            "use credentials of the stage's account, or correct the file",
        )
    yield ok("caller", f"{caller.arn} in {account.region}")


CHECKS: Checks = {
    "identity": check_caller,
    "bootstrap": first_deploy.check_bootstrap,
    "existing": existing_resources.check,
    "images": images.check,
    "instances": quotas.check_instances,
    "scaling": first_deploy.check_scaling_role,
    "builds": quotas.check_builds,
    "functions": quotas.check_functions,
}


def run_checks(account: Account, checks: Checks = CHECKS) -> Iterator[CheckFinding]:
    """Yield the findings of all checks; an AWS error becomes an unknown finding."""
    for name, check in checks.items():
        try:
            for finding in check(account):
                yield replace(finding, check=name)
        except (ClientError, BotoCoreError) as error:
            yield replace(unknown(name, failure_reason(error)), check=name)
