"""Deployments of states, with verdicts."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.transitions.account import Account
from tests.transitions.faults import FaultKind
from tests.transitions.templates import Template


class Verdict(StrEnum):
    """The result of a deployment. No call failed, except for `LOST`."""

    DONE = "done"
    UNTOUCHED = "done, without an update of the endpoint"
    REFUSED = "refused"
    ROLLED_BACK = "rolled back"
    CONTINUED = "rolled back after continuing the rollback"
    NO_STAGE = "refused by the stage's file"
    LOST = "LOST"


@dataclass(frozen=True)
class Result:
    """A verdict, with CloudFormation's reason if the deployment failed.

    `met` is whether all planned faults have happened.
    """

    verdict: Verdict
    reason: str = ""
    met: bool = True


@dataclass(frozen=True)
class Observation:
    """The state that a failed deployment must not change."""

    config: str
    catalog: dict[str, str]
    hosted: frozenset[str]
    scaled: frozenset[str]
    components: dict[str, Any]

    @classmethod
    def of(cls, account: Account) -> "Observation":
        """Return the state of an account."""
        endpoint = account.endpoint()
        assert endpoint["EndpointStatus"] == "InService"
        return cls(
            endpoint["EndpointConfigName"],
            account.catalog(),
            frozenset(account.hosted()),
            frozenset(
                target["ResourceId"] for target in account.scaling.describe_targets({})[TARGETS]
            ),
            {name: component["Specification"] for name, component in account.components().items()},
        )


def deploy(account: Account, template: Template, fault: FaultKind = FaultKind.NOTHING) -> Result:
    """Deploy a template with a fault, and return the result."""
    before, changed = Observation.of(account), _modification_times(account)
    account.deploy(template, fault)
    met = account.fault.has_struck()
    untouched = _modification_times(account) == changed
    reason = account.reason
    wrong = [*account.caller.failed]
    match account.status:
        case "UPDATE_COMPLETE":
            verdict = Verdict.UNTOUCHED if untouched else Verdict.DONE
            wrong += _not_as_deployed(account, template)
        case "UPDATE_ROLLBACK_COMPLETE":
            verdict = Verdict.REFUSED if untouched else Verdict.ROLLED_BACK
            wrong += _not_as_before(before, Observation.of(account))
        case "UPDATE_ROLLBACK_FAILED":
            verdict = Verdict.CONTINUED
            wrong += _deleted_in_service(account)
            wrong += _recover(account, before)
            wrong += [*account.caller.failed[:1], *_not_as_before(before, Observation.of(account))]
        case status:
            verdict, wrong = Verdict.LOST, [*wrong, f"the stack is {status}"]
    if wrong:
        return Result(Verdict.LOST, "; ".join(wrong[:3]))
    return Result(verdict, reason, met)


def _not_as_deployed(account: Account, template: Template) -> Iterator[str]:
    """Yield differences from the template, and resources that were not deleted."""
    resources: dict[str, Any] = account.resources()
    observed = Observation.of(account)
    (endpoint,) = (
        resource for resource in resources.values() if resource["ResourceType"] == ENDPOINT_TYPE
    )
    if observed.config != endpoint["Properties"]["EndpointConfigName"]:
        yield f"{observed.config} is in service"
    specifications = [
        resource["Properties"]["Specification"]
        for resource in resources.values()
        if resource["ResourceType"] == "AWS::SageMaker::InferenceComponent"
    ]
    if sorted(map(str, specifications)) != sorted(map(str, observed.components.values())):
        yield f"the components are {observed.components}"
    kinds = [resource["Type"] for resource in template["Resources"].values()]
    hosted = kinds.count("AWS::SageMaker::Model") + kinds.count("AWS::SageMaker::EndpointConfig")
    if len(observed.hosted) != hosted:
        yield f"left behind: {len(observed.hosted)} models and configurations, not {hosted}"
    if len(observed.catalog) != kinds.count("AWS::SSM::Parameter"):
        yield f"the catalog has {', '.join(observed.catalog)}"
    if len(observed.scaled) != kinds.count("AWS::ApplicationAutoScaling::ScalableTarget"):
        yield f"registered for scaling: {', '.join(observed.scaled)}"
    yield from _deleted_in_service(account)


def _recover(account: Account, before: Observation) -> Iterator[str]:
    """Follow the messages of check and SageMaker as an operator would, and continue the rollback.

    Yield the status of the stack if it was not rolled back.
    """
    endpoint = {"EndpointName": account.endpoint()["EndpointName"]}
    for target in account.scaling.describe_targets({})[TARGETS]:
        if target["ResourceId"] not in before.scaled:
            account.scaling.deregister(target)
    if "aws sagemaker update-inference-component" in account.last_reason:
        for name, specification in before.components.items():
            if account.components()[name]["Specification"] != specification:
                changed = {"InferenceComponentName": name, "Specification": specification}
                account.hosting.update_inference_component(changed)
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


def _not_as_before(before: Observation, now: Observation) -> Iterator[str]:
    for name, value in vars(before).items():
        if value != getattr(now, name):
            yield f"{name} is {getattr(now, name)} and was {value}"


def _deleted_in_service(account: Account) -> Iterator[str]:
    """Yield deleted resources that are in service."""
    config = account.endpoint()["EndpointConfigName"]
    if config not in account.hosted():
        yield f"{config} is in service and was deleted"
        return
    description = account.hosting.describe_endpoint_config({"EndpointConfigName": config})
    variants = description["ProductionVariants"]
    models = [variant["ModelName"] for variant in variants if "ModelName" in variant]
    models += [record["Specification"]["ModelName"] for record in account.components().values()]
    for model in models:
        if model not in account.hosted():
            yield f"{model} is in service and was deleted"
