"""SageMaker's quotas for the instances of endpoints, against the peak of this deploy."""

from collections.abc import Iterator

from botocore.exceptions import BotoCoreError, ClientError

from release.preflight.account import Account
from release.preflight.asking import why
from release.preflight.fleets import Peak, peaks
from release.preflight.rows import Row, Topic

TOPIC = Topic("instances")
SERVICE = "sagemaker"
ALL = "Number of instances across active endpoints"
"""Quota of the account's endpoints together, as CreateEndpoint's refusals name it
(https://github.com/aws/sagemaker-python-sdk/issues/908 has one of the other kind)."""


def quota_name(instance_type: str) -> str:
    """Return the name of an instance type's quota, as CreateEndpoint's refusals have it.

    Source: awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307.
    """
    return f"{instance_type} for endpoint usage"


def ask(account: Account) -> Iterator[Row]:
    """Compare the quota of every instance type, and that of all together, with what is needed.

    No source was found for a quota on the number of endpoints.
    """
    found = peaks(account)
    for kind, peak in found.items():
        yield _row(account, quota_name(kind), peak)
    if found:
        running = sum(it for of in account.running.values() for _, it in of.variants.values())
        started = sum(it.needed - it.running for it in found.values())
        everything = Peak(
            running=running,
            needed=running + started,
            most=running + sum(max(0, it.most - it.running) for it in found.values()),
            starts=any(it.starts for it in found.values()),
        )
        yield _row(account, ALL, everything)
    for endpoint in account.running.values():
        if endpoint.lost:
            yield TOPIC.unknown(
                endpoint.name, f"{endpoint.lost}: its instances are not counted here"
            )


def _row(account: Account, name: str, peak: Peak) -> Row:
    needs = f"{peak.running} run, {peak.needed} at the peak of this deploy"
    if peak.most > peak.needed:
        needs += f", {peak.most} where scaling is at its most"
    try:
        quota = account.quotas.of(SERVICE).get(name)
    except (ClientError, BotoCoreError) as error:
        return TOPIC.unknown(name, f"{why(error)}; {needs}")
    if quota is None:
        return TOPIC.unknown(name, f"Service Quotas has none of this name here; {needs}")
    said = f"{quota}; {needs}"
    if peak.starts and peak.needed > quota.value:
        return quota.too_small(TOPIC, said, max(peak.needed, peak.most))
    return TOPIC.ok(name, said, quota.request(peak.most) if peak.most > quota.value else "")
