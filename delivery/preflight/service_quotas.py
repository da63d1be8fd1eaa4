"""The account's quotas, by name."""

from dataclasses import dataclass, field
from math import ceil
from typing import Any

from delivery.preflight.findings import CheckFinding, ok, refused, unknown

PAGE_SIZE = 100
"""The maximum page size of ListServiceQuotas and ListAWSDefaultServiceQuotas (API reference)."""


@dataclass(frozen=True)
class AccountQuota:
    """A quota; `applied` is False if the value is AWS's default, not the account's own."""

    code: str
    value: float
    applied: bool

    def __str__(self) -> str:
        return f"quota {self.value:g}{'' if self.applied else ', AWS default'}"


@dataclass(frozen=True)
class ServiceQuotas:
    """The quotas of a region, cached by service."""

    client: Any
    _quotas: dict[str, dict[str, AccountQuota]] = field(default_factory=dict)

    def of(self, service: str) -> dict[str, AccountQuota]:
        """Return name -> quota of a service.

        "If the applied quota value is not available for a quota, the quota is not retrieved"
        (API reference of ListServiceQuotas): such a quota has AWS's default value.
        """
        if service not in self._quotas:
            self._quotas[service] = {
                **self._list("list_aws_default_service_quotas", service, applied=False),
                **self._list("list_service_quotas", service, applied=True),
            }
        return self._quotas[service]

    def compare(
        self,
        service: str,
        name: str,
        amount: int,
        message: str,
        *,
        maximum: int = 0,
        per_unit: int = 1,
    ) -> CheckFinding:
        """Return whether a quota allows `amount` now, and `maximum` later, such as by scaling.

        Each unit of the quota allows `per_unit` of the amount; `message` describes the need. An
        amount above AWS's default is unknown, not refused: it is undocumented whether the default
        limits an account without an applied value.
        """
        quota = self.of(service).get(name)
        if quota is None:
            return unknown(name, f"Service Quotas has no such quota in this region; {message}")
        desired = ceil(max(amount, maximum) / per_unit)
        request = (
            f"aws service-quotas request-service-quota-increase --service-code {service} "
            f"--quota-code {quota.code} --desired-value {desired}"
        )
        if amount > quota.value * per_unit:
            return (refused if quota.applied else unknown)(name, f"{quota}; {message}", request)
        return ok(name, f"{quota}; {message}", request if desired > quota.value else "")

    def _list(self, operation: str, service: str, *, applied: bool) -> dict[str, AccountQuota]:
        pages = self.client.get_paginator(operation).paginate(
            ServiceCode=service, PaginationConfig={"PageSize": PAGE_SIZE}
        )
        return {
            quota["QuotaName"]: AccountQuota(quota["QuotaCode"], quota["Value"], applied)
            for page in pages
            for quota in page["Quotas"]
        }
