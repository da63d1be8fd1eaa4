"""Deployments of states, with verdicts."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from platform_facts.rules.builds import BuildItem
from tests.transitions.account import Account
from tests.transitions.faults import FaultKind
from tests.transitions.templates import Template


class Verdict(StrEnum):
    """The result of a deployment.

    With `WRONG`, a call failed or the state is not as expected; with all others, no call failed.
    """

    DONE = "done"
    ENDPOINT_UNCHANGED = "done, without an update of the endpoint"
    REFUSED = "refused"
    ROLLED_BACK = "rolled back"
    CONTINUED = "rolled back after continuing the rollback"
    INVALID_STAGE = "refused by the stage's file"
    WRONG = "WRONG"


@dataclass(frozen=True)
class Result:
    """A verdict, with CloudFormation's reason if the deployment failed.

    `fault_happened` is whether all planned faults have happened.
    """

    verdict: Verdict
    reason: str = ""
    fault_happened: bool = True


@dataclass(frozen=True)
class AccountState:
    """The state of an account that a failed deployment must not change."""

    config: str
    catalog: dict[str, str]
    sagemaker_names: frozenset[str]
    scaled: frozenset[str]
    components: dict[str, Any]

    @classmethod
    def of(cls, account: Account) -> "AccountState":
        """Return the state of an account."""
        endpoint = account.endpoint()
        assert endpoint["EndpointStatus"] == "InService"
        return cls(
            endpoint["EndpointConfigName"],
            account.catalog(),
            frozenset(account.sagemaker_names()),
            frozenset(
                target["ResourceId"]
                for target in account.scaling.describe_scalable_targets({})[TARGETS]
            ),
            {name: component["Specification"] for name, component in account.components().items()},
        )


def deploy(account: Account, template: Template, fault: FaultKind = FaultKind.NONE) -> Result:
    """Deploy a template with a fault, and return the result."""
    before, times_before = AccountState.of(account), _modification_times(account)
    account.deploy(template, fault)
    fault_happened = account.fault.has_happened()
    is_unchanged = _modification_times(account) == times_before
    reason = account.reason
    problems = [*account.caller.failed_calls]
    match account.status:
        case "UPDATE_COMPLETE":
            verdict = Verdict.ENDPOINT_UNCHANGED if is_unchanged else Verdict.DONE
            problems += _differences_from_template(account, template)
        case "UPDATE_ROLLBACK_COMPLETE":
            verdict = Verdict.REFUSED if is_unchanged else Verdict.ROLLED_BACK
            problems += _differences_from_state(before, AccountState.of(account))
        case "UPDATE_ROLLBACK_FAILED":
            verdict = Verdict.CONTINUED
            problems += _deleted_resources_in_service(account)
            problems += _repair_and_continue_rollback(account, before)
            problems += [
                *account.caller.failed_calls[:1],
                *_differences_from_state(before, AccountState.of(account)),
            ]
        case status:
            verdict, problems = Verdict.WRONG, [*problems, f"the stack is {status}"]
    if problems:
        return Result(Verdict.WRONG, "; ".join(problems[:3]))
    return Result(verdict, reason, fault_happened)


def _differences_from_template(account: Account, template: Template) -> Iterator[str]:
    """Yield differences from the template, resources that were not deleted or wrongly deleted."""
    resources: dict[str, Any] = account.resources()
    state = AccountState.of(account)
    (endpoint,) = (
        resource for resource in resources.values() if resource["ResourceType"] == ENDPOINT_TYPE
    )
    if state.config != endpoint["Properties"]["EndpointConfigName"]:
        yield f"{state.config} is in service"
    specifications = [
        resource["Properties"]["Specification"]
        for resource in resources.values()
        if resource["ResourceType"] == "AWS::SageMaker::InferenceComponent"
    ]
    if sorted(map(str, specifications)) != sorted(map(str, state.components.values())):
        yield f"the components are {state.components}"
    types = [resource["Type"] for resource in template["Resources"].values()]
    expected_count = types.count("AWS::SageMaker::Model") + types.count(
        "AWS::SageMaker::EndpointConfig"
    )
    if len(state.sagemaker_names) != expected_count:
        count = len(state.sagemaker_names)
        yield f"{count} models and configurations exist, not {expected_count}"
    (builds,) = (r for r in template["Resources"].values() if r["Type"] == "Custom::TritonModels")
    bucket, _, key = builds["Properties"]["List"].partition("/")
    lines = account.s3.get_object(Bucket=bucket, Key=key)["Body"].read().splitlines()
    if state.catalog.keys() != {BuildItem.parse(line).model for line in lines}:
        yield f"the catalog has {', '.join(state.catalog)}"
    if len(state.scaled) != types.count("AWS::ApplicationAutoScaling::ScalableTarget"):
        yield f"registered for scaling: {', '.join(state.scaled)}"
    yield from _deleted_resources_in_service(account)


def _repair_and_continue_rollback(account: Account, before: AccountState) -> Iterator[str]:
    """Follow the messages of the check and SageMaker like an operator, and continue the rollback.

    Yield the status of the stack if it was not rolled back.
    """
    endpoint = {"EndpointName": account.endpoint()["EndpointName"]}
    for target in account.scaling.describe_scalable_targets({})[TARGETS]:
        if target["ResourceId"] not in before.scaled:
            account.scaling.deregister_scalable_target(target)
    if "aws sagemaker update-inference-component" in account.last_reason:
        for name, specification in before.components.items():
            if account.components()[name]["Specification"] != specification:
                request = {"InferenceComponentName": name, "Specification": specification}
                account.hosting.update_inference_component(request)
    if "aws sagemaker update-endpoint" in account.last_reason:
        config = {"EndpointConfigName": before.config, "RetainAllVariantProperties": True}
        account.hosting.update_endpoint({**endpoint, **config})
    account.continue_rollback()
    if account.status != "UPDATE_ROLLBACK_COMPLETE":
        yield f"the stack is {account.status}"


def _modification_times(account: Account) -> list[Any]:
    """Return the times of the last change of the endpoint and its components."""
    records = [account.endpoint(), *account.components().values()]
    return [
        (record.get("InferenceComponentName"), record["LastModifiedTime"]) for record in records
    ]


TARGETS = "ScalableTargets"
ENDPOINT_TYPE = "AWS::SageMaker::Endpoint"


def _differences_from_state(before: AccountState, after: AccountState) -> Iterator[str]:
    for name, value in vars(before).items():
        if value != getattr(after, name):
            yield f"{name} is {getattr(after, name)} and was {value}"


def _deleted_resources_in_service(account: Account) -> Iterator[str]:
    """Yield resources that are in service although they were deleted."""
    config = account.endpoint()["EndpointConfigName"]
    if config not in account.sagemaker_names():
        yield f"{config} is in service and was deleted"
        return
    description = account.hosting.describe_endpoint_config({"EndpointConfigName": config})
    variants = description["ProductionVariants"]
    models = [variant["ModelName"] for variant in variants if "ModelName" in variant]
    models += [record["Specification"]["ModelName"] for record in account.components().values()]
    for model in models:
        if model not in account.sagemaker_names():
            yield f"{model} is in service and was deleted"
