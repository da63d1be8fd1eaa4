"""The quotas of the local account, by service and name."""

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import botocore.session

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.settings import QUOTAS

ALL_INSTANCES = "Number of instances across active endpoints"

BUILD_TYPES = {
    ("LINUX_CONTAINER", "BUILD_GENERAL1_SMALL"): ("Linux/Small", "L-9D07B6EF", 1),
    ("LINUX_CONTAINER", "BUILD_GENERAL1_MEDIUM"): ("Linux/Medium", "L-2DC20C30", 1),
    ("LINUX_CONTAINER", "BUILD_GENERAL1_LARGE"): ("Linux/Large", "L-4DDC4A99", 1),
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_SMALL"): ("Linux GPU Small", "L-F1FE1B52", 0),
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_LARGE"): ("Linux GPU Large", "L-D906BEE7", 0),
}
"""Environment and compute type -> name in CodeBuild's quota, quota code, and AWS's default
(https://docs.aws.amazon.com/codebuild/latest/userguide/limits.html; codes from published outputs of
`aws service-quotas list-service-quotas`)."""

CONCURRENT_BUILDS = 20
"""Concurrent builds of the local account: "for some [...] the default is 20" (the same page)."""

QUEUED_BUILDS = "Builds in queue for the account"
"""Maximum queue length per environment and compute type; default: five times the concurrent builds.
Service Quotas does not have this quota: StartBuild fails in new accounts, for example with a queue
of 1 and 60 concurrent builds (aws-samples/aws-gateway-load-balancer-suricata-ids-ips-nsm#12)."""

LAMBDA_CONCURRENCY = "Concurrent executions"
"""Quota of Lambda: 1000, or 10 to 50 in new accounts
(awslabs/landing-zone-accelerator-on-aws#556, aws-samples/aws-secure-environment-accelerator#1002,
aws-bench/aws-bench-datasets#63 with the code)."""

VPCS = "VPCs per Region"
"""ministack does not enforce this quota."""

INSTANCE_CODES = {"ml.g5.xlarge": "L-1928E07B", "ml.m5.xlarge": "L-2F737F8D"}
"""Codes with a source; all others are generated in AWS's format."""

INSTANCES_PER_TYPE, INSTANCES = 20, 100
"""Instance quotas of the local account; a new AWS account has 0 for most types
(awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307)."""


class Quota(NamedTuple):
    """A quota with AWS's default and the account's value."""

    service: str
    code: str
    name: str
    default: int
    value: int


class AccountQuotas:
    """All quotas of the account; `values` by name override the defaults.

    `queued_builds` is the value of `QUEUED_BUILDS`, or None for the default. Raise
    `LocalSageMakerError` for an unknown name.
    """

    def __init__(self, values: Mapping[str, int] | None = None) -> None:
        values = dict(values or {})
        self.queued_builds = values.pop(QUEUED_BUILDS, None)
        self._quotas = {quota.name: quota for quota in _quotas()}
        for name, value in values.items():
            if name not in self._quotas:
                raise LocalSageMakerError(f"unknown quota {name!r}")
            self._quotas[name] = self._quotas[name]._replace(value=value)

    def by_service(self, service: str) -> list[Quota]:
        """Return the quotas of a service, sorted by name."""
        quotas = (quota for quota in self._quotas.values() if quota.service == service)
        return sorted(quotas, key=lambda quota: quota.name)

    def value(self, name: str) -> int:
        """Return a quota's value."""
        return self._quotas[name].value

    def builds(self) -> dict[tuple[str, str], int]:
        """Return the maximum number of concurrent builds by environment and compute type."""
        return {types: self.value(_build_quota_name(row[0])) for types, row in BUILD_TYPES.items()}


def instance_quota_name(instance_type: str) -> str:
    """Return the name of an instance type's quota (aws/amazon-sagemaker-examples#307)."""
    return f"{instance_type} for endpoint usage"


def configured_quotas() -> dict[str, int]:
    """Return the quotas in `LOCAL_SAGEMAKER_QUOTAS`. Raise `LocalSageMakerError` if invalid."""
    text = os.environ.get(QUOTAS) or "{}"
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not all(
        type(value) is int and value >= 0 for value in values.values()
    ):
        raise LocalSageMakerError(
            f"{QUOTAS} is {text!r}: expected JSON with whole numbers, such as "
            f'{{"{instance_quota_name("ml.m5.xlarge")}": 1}}'
        )
    return values


def _build_quota_name(environment: str) -> str:
    return f"Concurrently running builds for {environment} environment"


def _quotas() -> Iterator[Quota]:
    for environment, code, default in BUILD_TYPES.values():
        yield Quota("codebuild", code, _build_quota_name(environment), default, CONCURRENT_BUILDS)
    yield Quota("lambda", "L-B99A9384", LAMBDA_CONCURRENCY, 1000, 1000)
    yield Quota("vpc", "L-F678F1CE", VPCS, 5, 5)
    model: Any = botocore.session.get_session().get_service_model("sagemaker")
    types: list[str] = model.shape_for("ProductionVariantInstanceType").enum
    for name in types:
        code = INSTANCE_CODES.get(name, f"L-{zlib.crc32(name.encode()):08X}")
        yield Quota("sagemaker", code, instance_quota_name(name), 0, INSTANCES_PER_TYPE)
    # The code is from published outputs of list-service-quotas; AWS's default was not found.
    yield Quota("sagemaker", "L-7A3DF611", ALL_INSTANCES, 0, INSTANCES)
