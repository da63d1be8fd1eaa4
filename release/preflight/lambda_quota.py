"""Lambda's quota on concurrent executions, against the custom resources that start together."""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from release.preflight.account import Account
from release.preflight.findings import CheckFinding, ok, unknown
from release.stage_resources import references
from release.tree import Template

SERVICE, NAME = "lambda", "Concurrent executions"
EXECUTIONS = 2
"""Of one custom resource: the function of the CDK's provider framework waits for ours."""
DESIRED = 1000
"""AWS's default, and what others asked for whose new accounts had 10
(https://github.com/awslabs/landing-zone-accelerator-on-aws/issues/556)."""


def check(account: Account) -> Iterator[CheckFinding]:
    """Compare the quota with what the stacks need, which a delivery deploys side by side.

    Where it is too small, functions are refused with "Rate Exceeded", and the framework gives up
    soon (https://github.com/awslabs/landing-zone-accelerator-on-aws/issues/556).
    """
    resources = sum(
        starting_together(account.deployed_template(stack), template)
        for stack, template in account.templates.items()
    )
    needed = EXECUTIONS * resources
    message = f"custom resources that start together: {resources}, with {needed} executions"
    quota = account.quotas.of(SERVICE).get(NAME)
    if quota is None:
        yield unknown(NAME, f"Service Quotas has none of this name; {message}")
    elif needed > quota.value:
        yield quota.too_small(f"{quota}; {message}", max(needed, DESIRED))
    else:
        yield ok(NAME, f"{quota}; {message}")


def starting_together(before: Template | None, after: Template) -> int:
    """Return the most custom resources that CloudFormation calls at once in a stack.

    It calls those that change, each when those are done that it depends on. `before` is what the
    stack was deployed with.
    """
    resources, old = after["Resources"], (before or {}).get("Resources", {})

    def is_called(name: str) -> bool:
        properties = resources[name].get("Properties", {})
        return "ServiceToken" in properties and properties != old.get(name, {}).get("Properties")

    @cache
    def round_of(name: str) -> int:
        """Return after how many calls, one after the other, a resource is done."""
        depends_on = resources[name].get("DependsOn", [])
        names = [depends_on] if isinstance(depends_on, str) else depends_on
        needs = {*names, *references(resources[name].get("Properties", {}))} & resources.keys()
        return max(map(round_of, needs), default=0) + is_called(name)

    rounds = Counter(round_of(name) for name in resources if is_called(name))
    return max(rounds.values(), default=0)
