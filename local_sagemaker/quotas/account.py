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

BUILDS = {
    ("LINUX_CONTAINER", "BUILD_GENERAL1_SMALL"): ("Linux/Small", "L-9D07B6EF", 1),
    ("LINUX_CONTAINER", "BUILD_GENERAL1_MEDIUM"): ("Linux/Medium", "L-2DC20C30", 1),
    ("LINUX_CONTAINER", "BUILD_GENERAL1_LARGE"): ("Linux/Large", "L-4DDC4A99", 1),
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_SMALL"): ("Linux GPU Small", "L-F1FE1B52", 0),
    ("LINUX_GPU_CONTAINER", "BUILD_GENERAL1_LARGE"): ("Linux GPU Large", "L-D906BEE7", 0),
}
"""Environment and compute type -> how CodeBuild's quota calls it, its code, and AWS's default
(https://docs.aws.amazon.com/codebuild/latest/userguide/limits.html; the codes as
`aws service-quotas list-service-quotas` gave them to others)."""

BUILDS_AT_ONCE = 20
"""In this account: "for some [...] the default is 20" (the same page)."""

QUEUED_BUILDS = "Builds in queue for the account"
"""Of each kind of environment, where it is not five times the builds at once. It is no quota of
Service Quotas: new accounts meet it at StartBuild alone, such as 1 where 60 builds may run
(aws-samples/aws-gateway-load-balancer-suricata-ids-ips-nsm#12)."""

FUNCTIONS = "Concurrent executions"
"""Of all functions of the account: 1000, and 10 to 50 in new accounts
(awslabs/landing-zone-accelerator-on-aws#556, aws-samples/aws-secure-environment-accelerator#1002,
aws-bench/aws-bench-datasets#63 with the code)."""

NETWORKS = "VPCs per Region"
"""Listed, and not held to: networks are ministack's."""

INSTANCE_CODES = {"ml.g5.xlarge": "L-1928E07B", "ml.m5.xlarge": "L-2F737F8D"}
"""Codes that a source has; others are made up here, and only their form is AWS's."""

INSTANCES_OF_A_TYPE, INSTANCES = 20, 100
"""In this account, which is no new one: those have 0 of most types
(awsdocs/amazon-sagemaker-developer-guide#70, aws/amazon-sagemaker-examples#307)."""


class Quota(NamedTuple):
    """A quota: `default` is AWS's, `value` the account's."""

    service: str
    code: str
    name: str
    default: int
    value: int


class AccountQuotas:
    """All that this account has. `values` are those that differ here, by name.

    `queued_builds` is how many builds of a kind may wait, None for five times those that may run.
    Raises `LocalSageMakerError` for a name that is none.
    """

    def __init__(self, values: Mapping[str, int] | None = None) -> None:
        values = dict(values or {})
        self.queued_builds = values.pop(QUEUED_BUILDS, None)
        self._quotas = {quota.name: quota for quota in _quotas()}
        for name, value in values.items():
            if name not in self._quotas:
                raise LocalSageMakerError(f"there is no quota {name!r}")
            self._quotas[name] = self._quotas[name]._replace(value=value)

    def of_service(self, service: str) -> list[Quota]:
        """Return the quotas of a service, in the order of their names."""
        quotas = (quota for quota in self._quotas.values() if quota.service == service)
        return sorted(quotas, key=lambda quota: quota.name)

    def value(self, name: str) -> int:
        """Return a quota's value."""
        return self._quotas[name].value

    def builds(self) -> dict[tuple[str, str], int]:
        """Return environment and compute type -> builds at once."""
        return {kind: self.value(_builds_name(row[0])) for kind, row in BUILDS.items()}


def instances_name(instance_type: str) -> str:
    """Return the name of an instance type's quota (aws/amazon-sagemaker-examples#307)."""
    return f"{instance_type} for endpoint usage"


def quotas_here() -> dict[str, int]:
    """Return the quotas of the variable. Raise `LocalSageMakerError` if it is invalid."""
    text = os.environ.get(QUOTAS) or "{}"
    try:
        values = json.loads(text)
    except ValueError:
        values = None
    if not isinstance(values, dict) or not all(
        type(value) is int and value >= 0 for value in values.values()
    ):
        raise LocalSageMakerError(
            f"{QUOTAS} is {text!r}: write JSON with whole numbers, such as "
            f'{{"{instances_name("ml.m5.xlarge")}": 1}}'
        )
    return values


def _builds_name(environment: str) -> str:
    return f"Concurrently running builds for {environment} environment"


def _quotas() -> Iterator[Quota]:
    for environment, code, default in BUILDS.values():
        yield Quota("codebuild", code, _builds_name(environment), default, BUILDS_AT_ONCE)
    yield Quota("lambda", "L-B99A9384", FUNCTIONS, 1000, 1000)
    yield Quota("vpc", "L-F678F1CE", NETWORKS, 5, 5)
    model: Any = botocore.session.get_session().get_service_model("sagemaker")
    types: list[str] = model.shape_for("ProductionVariantInstanceType").enum
    for kind in types:
        code = INSTANCE_CODES.get(kind, f"L-{zlib.crc32(kind.encode()):08X}")
        yield Quota("sagemaker", code, instances_name(kind), 0, INSTANCES_OF_A_TYPE)
    # The code as `aws service-quotas list-service-quotas` gave it to others; no default was found.
    yield Quota("sagemaker", "L-7A3DF611", ALL_INSTANCES, 0, INSTANCES)
