"""Quotas of the local account, and Service Quotas."""

import json
from typing import Any

import pytest

from delivery.preflight import quotas as needed
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.quotas.account import (
    ALL_INSTANCES,
    CONCURRENT_BUILDS,
    QUEUED_BUILDS,
    AccountQuotas,
    configured_quotas,
)
from local_sagemaker.quotas.service import service_quotas

M5 = "ml.m5.xlarge for endpoint usage"


def call(operation: str, service: str, quotas: AccountQuotas, **members: Any) -> dict[str, Any]:
    return service_quotas(quotas).call(operation, {"ServiceCode": service, **members})


def test_account_value_and_aws_default() -> None:
    quotas = AccountQuotas({M5: 3})
    for operation, value in (("ListServiceQuotas", 3.0), ("ListAWSDefaultServiceQuotas", 0.0)):
        result: dict[str, float] = {}
        members: dict[str, Any] = {}
        while True:
            answer = call(operation, "sagemaker", quotas, **members)
            assert len(answer["Quotas"]) <= 100
            result |= {quota["QuotaName"]: quota["Value"] for quota in answer["Quotas"]}
            if "NextToken" not in answer:
                break
            members = {"NextToken": answer["NextToken"]}
        assert result[M5] == value
        assert ALL_INSTANCES in result
        assert len(result) > 100


@pytest.mark.parametrize(
    ("operation", "value"), [("GetServiceQuota", 3.0), ("GetAWSDefaultServiceQuota", 0.0)]
)
def test_single_quota(operation: str, value: float) -> None:
    quotas = AccountQuotas({M5: 3})
    quota = call(operation, "sagemaker", quotas, QuotaCode="L-2F737F8D")["Quota"]
    assert (quota["QuotaName"], quota["Value"]) == (M5, value)
    with pytest.raises(ApiError, match="no quota L-00000000"):
        call(operation, "sagemaker", quotas, QuotaCode="L-00000000")


def test_quota_names_match_preflight() -> None:
    """The two packages must not import each other, so both have the names of the quotas."""
    quotas = AccountQuotas()
    assert quotas.value(needed.instances_quota("ml.g5.xlarge"))
    assert ALL_INSTANCES == needed.ALL_INSTANCES
    assert set(quotas.builds().values()) == {CONCURRENT_BUILDS}
    functions = [quota.name for quota in quotas.by_service("lambda")]
    assert functions == ["Concurrent executions"]


def test_build_queue_is_not_listed() -> None:
    quotas = AccountQuotas({QUEUED_BUILDS: 1})
    assert quotas.queued_builds == 1
    assert AccountQuotas().queued_builds is None
    names = {
        quota["QuotaName"] for quota in call("ListServiceQuotas", "codebuild", quotas)["Quotas"]
    }
    assert QUEUED_BUILDS not in names


def test_unknown_service_or_quota_is_an_error() -> None:
    with pytest.raises(ApiError) as exc_info:
        call("ListServiceQuotas", "sns", AccountQuotas())
    assert exc_info.value.code == "NoSuchResourceException"
    with pytest.raises(LocalSageMakerError, match=r"unknown quota 'ml\.m5'"):
        AccountQuotas({"ml.m5": 1})


@pytest.mark.parametrize("text", ["{", "[]", '{"a": -1}', '{"a": 1.5}', '{"a": true}'])
def test_invalid_quotas_variable_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LOCAL_SAGEMAKER_QUOTAS", text)
    with pytest.raises(LocalSageMakerError, match="expected JSON with whole numbers"):
        configured_quotas()


def test_quotas_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_SAGEMAKER_QUOTAS", raising=False)
    assert configured_quotas() == {}
    monkeypatch.setenv("LOCAL_SAGEMAKER_QUOTAS", json.dumps({M5: 1}))
    assert configured_quotas() == {M5: 1}
