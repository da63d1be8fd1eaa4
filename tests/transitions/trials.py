"""Deploying one state after another, and what is to be said of it."""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from tests.transitions.account import Account
from tests.transitions.faults import What
from tests.transitions.templates import Template


class Verdict(StrEnum):
    """How a deployment ended. In all but `LOST` not one call failed."""

    DONE = "done"
    UNTOUCHED = "done, without an update of the endpoint"
    REFUSED = "refused"
    ROLLED_BACK = "rolled back"
    CONTINUED = "rolled back when told to continue"
    NO_STAGE = "refused by the stage's file"
    LOST = "LOST"


@dataclass(frozen=True)
class Result:
    """A verdict, with CloudFormation's reason where a deployment failed.

    `met` says whether what was to go wrong has gone wrong.
    """

    verdict: Verdict
    reason: str = ""
    met: bool = True


@dataclass(frozen=True)
class Observation:
    """What must be as before where a deployment failed."""

    config: str
    catalog: dict[str, str]
    hosted: frozenset[str]
    scaled: frozenset[str]
    components: dict[str, Any]

    @classmethod
    def of(cls, account: Account) -> "Observation":
        """Look at an account."""
        endpoint = account.endpoint()
        assert endpoint["EndpointStatus"] == "InService"
        return cls(
            endpoint["EndpointConfigName"],
            account.catalog(),
            frozenset(account.hosted()),
            frozenset(each["ResourceId"] for each in account.scaling.describe_targets({})[TARGETS]),
            {name: each["Specification"] for name, each in account.components().items()},
        )


def deploy(account: Account, template: Template, what: What = What.NOTHING) -> Result:
    """Deploy a template, with something going wrong, and judge."""
    before, changed = Observation.of(account), _changed(account)
    account.deploy(template, what)
    met = account.fault.has_struck()
    untouched = _changed(account) == changed
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
            wrong += _gone(account)
            wrong += _recover(account, before)
            wrong += [*account.caller.failed[:1], *_not_as_before(before, Observation.of(account))]
        case status:
            verdict, wrong = Verdict.LOST, [*wrong, f"the stack is {status}"]
    if wrong:
        return Result(Verdict.LOST, "; ".join(wrong[:3]))
    return Result(verdict, reason, met)


def _not_as_deployed(account: Account, template: Template) -> Iterator[str]:
    """Yield what differs from the template, or was left behind."""
    resources: dict[str, Any] = account.resources()
    observed = Observation.of(account)
    (endpoint,) = (
        resource for resource in resources.values() if resource["ResourceType"] == ENDPOINT_TYPE
    )
    if observed.config != endpoint["Properties"]["EndpointConfigName"]:
        yield f"{observed.config} serves"
    specifications = [
        each["Properties"]["Specification"]
        for each in resources.values()
        if each["ResourceType"] == "AWS::SageMaker::InferenceComponent"
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
    yield from _gone(account)


def _recover(account: Account, before: Observation) -> Iterator[str]:
    """Do what a person does: what the check says, and what SageMaker asks for; then continue.

    Yield what the stack is then, if not rolled back.
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


def _changed(account: Account) -> list[Any]:
    """Return when the endpoint and its components were changed last."""
    described = [account.endpoint(), *account.components().values()]
    return [(each.get("InferenceComponentName"), each["LastModifiedTime"]) for each in described]


TARGETS = "ScalableTargets"
ENDPOINT_TYPE = "AWS::SageMaker::Endpoint"


def _not_as_before(before: Observation, now: Observation) -> Iterator[str]:
    for name, value in vars(before).items():
        if value != getattr(now, name):
            yield f"{name} is {getattr(now, name)} and was {value}"


def _gone(account: Account) -> Iterator[str]:
    """Yield what serves and was deleted."""
    config = account.endpoint()["EndpointConfigName"]
    if config not in account.hosted():
        yield f"{config} serves and was deleted"
        return
    described = account.hosting.describe_endpoint_config({"EndpointConfigName": config})
    served = [each["ModelName"] for each in described["ProductionVariants"] if "ModelName" in each]
    served += [each["Specification"]["ModelName"] for each in account.components().values()]
    for model in served:
        if model not in account.hosted():
            yield f"{model} serves and was deleted"
