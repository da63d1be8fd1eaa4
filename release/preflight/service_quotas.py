"""The account's quotas, by the names that Service Quotas gives them."""

from dataclasses import dataclass, field
from typing import Any

from release.preflight.findings import CheckFinding, refused, unknown

PAGE = 100
"""The most that a page of ListServiceQuotas and ListAWSDefaultServiceQuotas has (API reference)."""


@dataclass(frozen=True)
class Quota:
    """One quota; `applied` is whether it is the account's own value, not AWS's default."""

    service: str
    code: str
    name: str
    value: float
    applied: bool

    def __str__(self) -> str:
        return f"quota {self.value:g}{'' if self.applied else ', AWS default'}"

    def too_small(self, message: str, desired: float) -> CheckFinding:
        """Return the finding of a quota that a deploy does not fit into.

        AWS's default stands in where no value is applied, and nothing says that an account has no
        more than it (no source was found): it refuses nothing.
        """
        verdict = refused if self.applied else unknown
        return verdict(self.name, message, self.request(desired))

    def request(self, desired: float) -> str:
        """Return the command that asks AWS for more."""
        return (
            f"aws service-quotas request-service-quota-increase --service-code {self.service} "
            f"--quota-code {self.code} --desired-value {desired:g}"
        )


@dataclass(frozen=True)
class ServiceQuotas:
    """The quotas of a region; those of each service are listed once."""

    client: Any
    _known: dict[str, dict[str, Quota]] = field(default_factory=dict)

    def of(self, service: str) -> dict[str, Quota]:
        """Return quota name -> quota of a service.

        "If the applied quota value is not available for a quota, the quota is not retrieved"
        (API reference of ListServiceQuotas): AWS's default counts then.
        """
        if service not in self._known:
            self._known[service] = {
                **self._listed("list_aws_default_service_quotas", service, applied=False),
                **self._listed("list_service_quotas", service, applied=True),
            }
        return self._known[service]

    def _listed(self, operation: str, service: str, *, applied: bool) -> dict[str, Quota]:
        pages = self.client.get_paginator(operation).paginate(
            ServiceCode=service, PaginationConfig={"PageSize": PAGE}
        )
        return {
            quota["QuotaName"]: Quota(
                service, quota["QuotaCode"], quota["QuotaName"], quota["Value"], applied
            )
            for page in pages
            for quota in page["Quotas"]
        }
