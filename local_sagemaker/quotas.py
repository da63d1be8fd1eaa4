"""Service Quotas: the quotas of the local account that a deployment depends on."""

import json
import os
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import botocore.session

from local_sagemaker.api import JsonService
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.paging import page
from local_sagemaker.settings import QUOTAS

Record = dict[str, Any]

PAGE_SIZE = 100
"""Maximum page size; source: botocore's model."""

SERVICES = {"lambda": "AWS Lambda", "sagemaker": "Amazon SageMaker"}

ALL_INSTANCES = "Number of instances across active endpoints"
LAMBDA_CONCURRENCY = "Concurrent executions"
"""Quota of Lambda: 1000, or 10 to 50 in new accounts
(awslabs/landing-zone-accelerator-on-aws#556, aws-samples/aws-secure-environment-accelerator#1002,
aws-bench/aws-bench-datasets#63 with the code)."""

_INSTANCE_CODES = {"ml.g5.xlarge": "L-1928E07B", "ml.m5.xlarge": "L-2F737F8D"}
"""Codes with a source; all others are generated in AWS's format."""
_INSTANCES_PER_TYPE, _INSTANCES = 20, 100
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

    Raise `LocalSageMakerError` for an unknown name.
    """

    def __init__(self, values: Mapping[str, int] | None = None) -> None:
        self._quotas = {quota.name: quota for quota in _quotas()}
        for name, value in (values or {}).items():
            if name not in self._quotas:
                raise LocalSageMakerError(f"unknown quota {name!r}")
            self._quotas[name] = self._quotas[name]._replace(value=value)
        self.service = JsonService("service-quotas", self)

    def value(self, name: str) -> int:
        """Return a quota's value."""
        return self._quotas[name].value

    def list_service_quotas(self, request: Record) -> Record:
        """ListServiceQuotas."""
        return self._page(request, lambda quota: quota.value)

    def list_aws_default_service_quotas(self, request: Record) -> Record:
        """ListAWSDefaultServiceQuotas."""
        return self._page(request, lambda quota: quota.default)

    def _page(self, request: Record, value: Callable[[Quota], int]) -> Record:
        code = request["ServiceCode"]
        if code not in SERVICES:
            message = f"The local SageMaker has no quotas for the service {code}."
            raise ApiError("NoSuchResourceException", message)
        records, next_token = page(
            (quota for quota in self._quotas.values() if quota.service == code),
            request,
            key=lambda quota: (quota.name, quota.code),
            size=PAGE_SIZE,
            error_code="InvalidPaginationTokenException",
        )
        return {"Quotas": [_record(quota, value(quota)) for quota in records], **next_token}


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


def _quotas() -> Iterator[Quota]:
    yield Quota("lambda", "L-B99A9384", LAMBDA_CONCURRENCY, 1000, 1000)
    model: Any = botocore.session.get_session().get_service_model("sagemaker")
    types: list[str] = model.shape_for("ProductionVariantInstanceType").enum
    for name in types:
        code = _INSTANCE_CODES.get(name, f"L-{zlib.crc32(name.encode()):08X}")
        yield Quota("sagemaker", code, instance_quota_name(name), 0, _INSTANCES_PER_TYPE)
    # The code is from published outputs of list-service-quotas; AWS's default was not found.
    yield Quota("sagemaker", "L-7A3DF611", ALL_INSTANCES, 0, _INSTANCES)


def _record(quota: Quota, value: int) -> Record:
    return {
        "ServiceCode": quota.service,
        "ServiceName": SERVICES[quota.service],
        "QuotaArn": f"arn:aws:servicequotas:{REGION}:{ACCOUNT}:{quota.service}/{quota.code}",
        "QuotaCode": quota.code,
        "QuotaName": quota.name,
        "Value": float(value),
        "Unit": "None",
        "Adjustable": True,
        "GlobalQuota": False,
    }
