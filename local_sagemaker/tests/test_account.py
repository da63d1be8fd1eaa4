"""The account's quotas, and AWS's registries."""

import json
from typing import Any

import pytest

import platform_facts
from delivery.preflight import quotas as needed
from local_sagemaker.ecr import registries
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.quotas import ALL_INSTANCES, AccountQuotas, configured_quotas
from platform_facts import Processor, Support

M5 = "ml.m5.xlarge for endpoint usage"
REGION = platform_facts.region("us-east-1")


def values(service: str, operation: str = "ListServiceQuotas") -> dict[str, float]:
    """Return the values of all pages by name, with a quota of three ml.m5.xlarge."""
    quotas, result = AccountQuotas({M5: 3}), dict[str, float]()
    request = {"ServiceCode": service}
    while True:
        response = quotas.service.call(operation, request)
        result |= {quota["QuotaName"]: quota["Value"] for quota in response["Quotas"]}
        if "NextToken" not in response:
            return result
        request["NextToken"] = response["NextToken"]


def test_values_and_defaults_of_the_quotas_that_preflight_needs() -> None:
    """The two packages must not import each other, so both have the names of the quotas."""
    applied, defaults = (
        values("sagemaker", operation)
        for operation in ("ListServiceQuotas", "ListAWSDefaultServiceQuotas")
    )
    assert (applied[M5], defaults[M5]) == (3, 0)
    assert applied[needed.instances_quota("ml.g5.xlarge")] == 20
    assert needed.ALL_INSTANCES == ALL_INSTANCES in applied
    assert values("lambda") == {"Concurrent executions": 1000}


def test_unknown_quota_is_an_error() -> None:
    with pytest.raises(LocalSageMakerError, match=r"unknown quota 'ml\.m5'"):
        AccountQuotas({"ml.m5": 1})


@pytest.mark.parametrize("text", ["{", "[]", '{"a": -1}', '{"a": 1.5}', '{"a": true}'])
def test_invalid_quotas_variable_is_an_error(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setenv("LOCAL_SAGEMAKER_QUOTAS", text)
    with pytest.raises(LocalSageMakerError, match="expected JSON with whole numbers"):
        configured_quotas()


def request(registry: str, tag: str, name: str = "sagemaker-tritonserver") -> dict[str, Any]:
    return {"registryId": registry, "repositoryName": name, "imageIds": [{"imageTag": tag}]}


@pytest.mark.parametrize("release", platform_facts.releases(), ids=lambda value: str(value.name))
@pytest.mark.parametrize("processor", Processor)
def test_releases_available_in_the_region(
    release: platform_facts.Release, processor: Processor
) -> None:
    uri = platform_facts.image_uri(release=release, region=REGION, processor=processor)
    answer = registries().call("BatchGetImage", request(uri[:12], uri.rpartition(":")[2]))
    sourced = REGION.availability(release) is Support.YES or release.name == "24.09"
    if release.name >= "23.02":
        assert (bool(answer["images"]), bool(answer["failures"])) == (sourced, not sourced)


def test_other_repositories_are_denied_and_the_own_registry_is_of_ministack() -> None:
    with pytest.raises(ApiError, match="no resource-based policy allows") as exc_info:
        registries().call("BatchGetImage", request("763104351884", "1", "pytorch-inference"))
    assert exc_info.value.code == "AccessDeniedException"
    own = json.dumps(request("000000000000", "1")).encode()
    assert registries().answer("BatchGetImage", own) is None
    assert registries().answer("CreateRepository", b"{}") is None
