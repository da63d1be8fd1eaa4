"""SageMaker's quotas for the instances of endpoints, against the peak of this deploy."""

from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import Account
from release.preflight.answers import why
from release.preflight.findings import CheckFinding, ok, unknown
from release.preflight.fleets import Peak, endpoints, peaks

SERVICE = "sagemaker"
ALL = "Number of instances across active endpoints"
"""Quota of the account's endpoints together, as CreateEndpoint's refusals name it
(https://github.com/aws/sagemaker-python-sdk/issues/908 has one of the other kind)."""


def quota_name(instance_type: str) -> str:
    """Return the name of an instance type's quota, as CreateEndpoint's refusals have it.

    Source: awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307.
    """
    return f"{instance_type} for endpoint usage"


def check(account: Account) -> Iterator[CheckFinding]:
    """Compare the quota of every instance type, and that of all together, with what is needed.

    No source was found for a quota on the number of endpoints.
    """
    found = peaks(account)
    variants = (variant for endpoint in endpoints(account) for variant in endpoint.variants)
    deployed = {name for variant in variants for name in variant.instance_types}
    for instance_type in sorted(deployed):
        yield _compare(account, quota_name(instance_type), found[instance_type])
    if deployed:
        together = sum(peaks(account, preferred=True).values(), start=Peak(0, 0, 0))
        yield _compare(account, ALL, together)
    for endpoint in account.running.values():
        if endpoint.uncounted:
            yield unknown(endpoint.name, f"{endpoint.uncounted}: its instances are not counted")


def _compare(account: Account, name: str, peak: Peak) -> CheckFinding:
    needs = f"{peak.running} run, {peak.needed} at the peak of this deploy"
    if peak.most > peak.needed:
        needs += f", {peak.most} where scaling is at its most"
    try:
        quota = account.quotas.of(SERVICE).get(name)
    except (ClientError, BotoCoreError) as error:
        return unknown(name, f"{why(error)}; {needs}")
    if quota is None:
        return unknown(name, f"Service Quotas has none of this name here; {needs}")
    message = f"{quota}; {needs}"
    if peak.starts and peak.needed > quota.value:
        return quota.too_small(message, max(peak.needed, peak.most))
    return ok(name, message, quota.request(peak.most) if peak.most > quota.value else "")
