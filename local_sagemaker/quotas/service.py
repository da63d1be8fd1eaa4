"""The List operations of Service Quotas."""

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

    def records(request: Record, value: Callable[[Quota], int]) -> list[Record]:
        code = request["ServiceCode"]
        if code not in SERVICES:
            raise ApiError(
                "NoSuchResourceException",
                f"The local SageMaker has no quotas for the service {code}.",
            )
        return [_record(quota, value(quota)) for quota in quotas.by_service(code)]

    def list_operation(value: Callable[[Quota], int]) -> Callable[[Record], Record]:
        def list_quotas(request: Record) -> Record:
            records_page, next_token = page(
                records(request, value), request, key=_sort_key, size=PAGE_SIZE
            )
            return {"Quotas": records_page, **next_token}

        return list_quotas

    def get_operation(value: Callable[[Quota], int]) -> Callable[[Record], Record]:
        def get_quota(request: Record) -> Record:
            for record in records(request, value):
                if record["QuotaCode"] == request["QuotaCode"]:
                    return {"Quota": record}
            raise ApiError(
                "NoSuchResourceException",
                f"The local SageMaker has no quota {request['QuotaCode']}.",
            )

        return get_quota

    def list_services(request: Record) -> Record:
        services = ({"ServiceCode": code, "ServiceName": name} for code, name in SERVICES.items())
        services_page, next_token = page(
            services,
            request,
            key=lambda service: (service["ServiceCode"], service["ServiceName"]),
            size=PAGE_SIZE,
        )
        return {"Services": services_page, **next_token}

    def applied(quota: Quota) -> int:
        return quota.value

    def default(quota: Quota) -> int:
        return quota.default

    return JsonService(
        "service-quotas",
        {
            "GetServiceQuota": get_operation(applied),
            "GetAWSDefaultServiceQuota": get_operation(default),
            "ListServiceQuotas": list_operation(applied),
            "ListAWSDefaultServiceQuotas": list_operation(default),
            "ListServices": list_services,
        },
    )


def _sort_key(quota: Record) -> tuple[str, str]:
    return quota["QuotaName"], quota["QuotaCode"]


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
