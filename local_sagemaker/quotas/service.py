"""The read operations of Service Quotas."""

from collections.abc import Callable
from typing import Any

from local_sagemaker.api import JsonService
from local_sagemaker.environment import ACCOUNT, REGION
from local_sagemaker.errors import ApiError
from local_sagemaker.paging import page
from local_sagemaker.quotas.account import AccountQuotas, Quota

Record = dict[str, Any]
PAGE_SIZE = 100
"""Maximum page size; source: botocore's model."""

SERVICES = {
    "codebuild": "AWS CodeBuild",
    "lambda": "AWS Lambda",
    "sagemaker": "Amazon SageMaker",
    "vpc": "Amazon Virtual Private Cloud (Amazon VPC)",
}


def service_quotas(quotas: AccountQuotas) -> JsonService:
    """Return the service for the account's quotas."""

    def listing(value: Callable[[Quota], int]) -> Callable[[Record], Record]:
        def answer(request: Record) -> Record:
            code = request["ServiceCode"]
            if code not in SERVICES:
                raise ApiError(
                    "NoSuchResourceException",
                    f"The local SageMaker has no quotas for the service {code}.",
                )
            described = [_described(quota, value(quota)) for quota in quotas.of_service(code)]
            listed, more = page(described, request, key=_key, size=PAGE_SIZE)
            return {"Quotas": listed, **more}

        return answer

    services = [{"ServiceCode": code, "ServiceName": name} for code, name in SERVICES.items()]
    return JsonService(
        "service-quotas",
        {
            "ListServiceQuotas": listing(lambda quota: quota.value),
            "ListAWSDefaultServiceQuotas": listing(lambda quota: quota.default),
            "ListServices": lambda _: {"Services": services},
        },
    )


def _key(quota: Record) -> tuple[str, str]:
    return quota["QuotaName"], quota["QuotaCode"]


def _described(quota: Quota, value: int) -> Record:
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
