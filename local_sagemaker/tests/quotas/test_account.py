"""The local account's quotas, as Service Quotas lists them and as others are held to them."""

import json
from typing import Any

import pytest

from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.quotas.account import (
    ALL_INSTANCES,
    BUILDS_AT_ONCE,
    QUEUED_BUILDS,
    AccountQuotas,
    quotas_here,
)
from local_sagemaker.quotas.service import service_quotas
from release.preflight import quotas as needed

M5 = "ml.m5.xlarge for endpoint usage"


def listed(operation: str, service: str, quotas: AccountQuotas, **more: Any) -> dict[str, Any]:
    return service_quotas(quotas).call(operation, {"ServiceCode": service, **more})


def test_a_value_is_the_account_s_and_a_default_aws_s() -> None:
    quotas = AccountQuotas({M5: 3})
    for operation, value in (("ListServiceQuotas", 3.0), ("ListAWSDefaultServiceQuotas", 0.0)):
        result: dict[str, float] = {}
        more: dict[str, Any] = {}
        while True:
            answer = listed(operation, "sagemaker", quotas, **more)
            assert len(answer["Quotas"]) <= 100
            result |= {quota["QuotaName"]: quota["Value"] for quota in answer["Quotas"]}
            if "NextToken" not in answer:
                break
            more = {"NextToken": answer["NextToken"]}
        assert result[M5] == value
        assert ALL_INSTANCES in result
        assert len(result) > 100


def test_names_are_those_that_preflight_asks_for() -> None:
    """Two rooms that may not import each other: the names of quotas are said twice."""
    quotas = AccountQuotas()
    assert quotas.value(needed.instances_quota("ml.g5.xlarge"))
    assert ALL_INSTANCES == needed.ALL_INSTANCES
    names = {needed.builds_quota(environment) for environment in needed.ENVIRONMENTS}
    assert names == {quota.name for quota in quotas.of_service(needed.CODEBUILD)}
    assert quotas.builds().keys() == needed.ENVIRONMENTS.keys()
    assert set(quotas.builds().values()) == {BUILDS_AT_ONCE}
    functions = [quota.name for quota in quotas.of_service("lambda")]
    assert functions == ["Concurrent executions"]


def test_the_queue_of_builds_is_no_quota_that_service_quotas_lists() -> None:
    quotas = AccountQuotas({QUEUED_BUILDS: 1})
    assert quotas.queued_builds == 1
    assert AccountQuotas().queued_builds is None
    names = {
        quota["QuotaName"] for quota in listed("ListServiceQuotas", "codebuild", quotas)["Quotas"]
    }
    assert QUEUED_BUILDS not in names


def test_a_service_without_quotas_and_a_name_that_is_none_are_errors() -> None:
    with pytest.raises(ApiError) as refused:
        listed("ListServiceQuotas", "sns", AccountQuotas())
    assert refused.value.code == "NoSuchResourceException"
    with pytest.raises(LocalSageMakerError, match=r"there is no quota 'ml\.m5'"):
        AccountQuotas({"ml.m5": 1})


@pytest.mark.parametrize("text", ["{", "[]", '{"a": -1}', '{"a": 1.5}', '{"a": true}'])
def test_what_is_no_object_of_quotas_is_an_error(
    monkeypatch: pytest.MonkeyPatch, text: str
) -> None:
    monkeypatch.setenv("LOCAL_SAGEMAKER_QUOTAS", text)
    with pytest.raises(LocalSageMakerError, match="write JSON with whole numbers"):
        quotas_here()


def test_quotas_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCAL_SAGEMAKER_QUOTAS", raising=False)
    assert quotas_here() == {}
    monkeypatch.setenv("LOCAL_SAGEMAKER_QUOTAS", json.dumps({M5: 1}))
    assert quotas_here() == {M5: 1}
