"""The account's quotas, by their names in Service Quotas."""

from dataclasses import dataclass, field
from math import ceil
from typing import Any

from release.preflight.findings import CheckFinding, ok, refused, unknown

PAGE = 100
"""The maximum page size of ListServiceQuotas and ListAWSDefaultServiceQuotas (API reference)."""


@dataclass(frozen=True)
class AccountQuota:
    """A quota; `applied` tells the account's own value from AWS's default."""

    code: str
    value: float
    applied: bool

    def __str__(self) -> str:
        return f"quota {self.value:g}{'' if self.applied else ', AWS default'}"


@dataclass(frozen=True)
class Need:
    """The need of a deploy for a quota: `amount` now, and `most` later, such as after scaling.

    `per_unit` is how many fit into a quota of one; `message` describes the need.
    """

    service: str
    quota: str
    amount: int
    message: str
    most: int = 0
    per_unit: int = 1

    def compare(self, quota: AccountQuota | None) -> CheckFinding:
        """Return the finding whether a quota is large enough.

        AWS's default refuses nothing: no source says that an account without an applied value has
        only the default.
        """
        if quota is None:
            return unknown(self.quota, f"Service Quotas has none of this name here; {self.message}")
        message = f"{quota}; {self.message}"
        desired = ceil(max(self.amount, self.most) / self.per_unit)
        request = (
            f"aws service-quotas request-service-quota-increase --service-code {self.service} "
            f"--quota-code {quota.code} --desired-value {desired}"
        )
        if self.amount > quota.value * self.per_unit:
            return (refused if quota.applied else unknown)(self.quota, message, request)
        return ok(self.quota, message, request if desired > quota.value else "")


@dataclass(frozen=True)
class ServiceQuotas:
    """The quotas of a region, cached by service."""

    client: Any
    _known: dict[str, dict[str, AccountQuota]] = field(default_factory=dict)

    def of(self, service: str) -> dict[str, AccountQuota]:
        """Return name -> quota of a service.

        "If the applied quota value is not available for a quota, the quota is not retrieved"
        (API reference of ListServiceQuotas): then it is AWS's default.
        """
        if service not in self._known:
            self._known[service] = {
                **self._list("list_aws_default_service_quotas", service, applied=False),
                **self._list("list_service_quotas", service, applied=True),
            }
        return self._known[service]

    def _list(self, operation: str, service: str, *, applied: bool) -> dict[str, AccountQuota]:
        pages = self.client.get_paginator(operation).paginate(
            ServiceCode=service, PaginationConfig={"PageSize": PAGE}
        )
        return {
            quota["QuotaName"]: AccountQuota(quota["QuotaCode"], quota["Value"], applied)
            for page in pages
            for quota in page["Quotas"]
        }
