"""What SageMaker has, and no table of `platform_facts`: families of instances, and host images."""

from collections.abc import Iterator

import platform_facts
from release.preflight.account import Account
from release.preflight.instance_quotas import SERVICE, quota_name
from release.preflight.rows import Row, Topic

TOPIC = Topic("facts")
AMIS = "ProductionVariantInferenceAmiVersion"
"""The shape of InferenceAmiVersion in the SDK's model of SageMaker (botocore, service-2)."""


def ask(account: Account) -> Iterator[Row]:
    """Name the host images and the families of GPU instances that nobody has read of."""
    yield _amis(account)
    yield _families(account)


def _amis(account: Account) -> Row:
    """Compare the installed SDK's values of InferenceAmiVersion: no call has them.

    Those of Neuron have no NVIDIA driver (platform_facts/inference_amis.toml).
    """
    offered = account.client("sagemaker").meta.service_model.shape_for(AMIS).enum
    known = {it.name for it in platform_facts.inference_amis()}
    unread = sorted({it for it in offered if "neuron" not in it} - known)
    if unread:
        return TOPIC.ok(
            "inference AMIs",
            f"the SDK has {', '.join(unread)}, which platform_facts/inference_amis.toml has not",
            "add each with the CUDA of its driver and the source",
        )
    return TOPIC.ok("inference AMIs", "platform_facts/inference_amis.toml has all of the SDK's")


def _families(account: Account) -> Row:
    """Look for families by their quotas for endpoints."""
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
        return TOPIC.ok(
            "GPU families",
            f"SageMaker has {', '.join(unread)}, which platform_facts/instances.toml has not",
            "add each with its GPU and the source, or name it in unread_families",
        )
    return TOPIC.ok("GPU families", "platform_facts/instances.toml has all that SageMaker has")
