"""Instance families that SageMaker has here, and no table of `platform_facts`."""

from collections.abc import Iterator

import platform_facts
from release.preflight.account import Account
from release.preflight.instance_quotas import SERVICE, quota_name
from release.preflight.rows import Row, Topic

TOPIC = Topic("facts")


def ask(account: Account) -> Iterator[Row]:
    """Name the families of GPU instances with a quota for endpoints that nobody has read of."""
    ending = quota_name("")
    offered = {
        name.removesuffix(ending).split(".")[1]
        for name in account.quotas.of(SERVICE)
        if name.startswith("ml.") and name.endswith(ending)
    }
    gpu = {it for it in offered if it.startswith(("g", "p"))}
    known = {it.family for it in platform_facts.instance_types()}
    unread = sorted(gpu - known - set(platform_facts.unread_families()))
    if unread:
        yield TOPIC.ok(
            "GPU families",
            f"SageMaker has {', '.join(unread)}, which platform_facts/instances.toml has not",
            "add each with its GPU and the source, or name it in unread_families",
        )
    else:
        yield TOPIC.ok("GPU families", "platform_facts/instances.toml has all that SageMaker has")
