"""Results of each check for confirming, refuting and missing AWS responses."""

import re
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from account_test.answers import Answers
from account_test.checks import checks
from account_test.findings import StatementResult
from account_test.names import ENDPOINT_STACK, MODELS_STACK
from tests.unit.account_test.conftest import BEGAN, Recording
from tests.unit.test_repository import ROOT

CHECKS = {check.id: check for check in checks()}
Make = Callable[[], Recording]
"""Factory of the AWS responses for one result."""


def stack(recording: Recording, step: str, name: str, status: str) -> Recording:
    return recording(step, "DescribeStacks", {"StackStatus": status}, StackName=name)


def event(kind: str, status: str, seconds: int = 0, *, reason: str = "because") -> dict[str, Any]:
    return {
        "Timestamp": BEGAN + timedelta(seconds=seconds),
        "LogicalResourceId": "Name",
        "ResourceType": kind,
        "ResourceStatus": status,
        "ResourceStatusReason": reason,
    }


def events(recording: Recording, step: str, name: str, *newest_first: dict[str, Any]) -> Recording:
    return recording(
        step, "DescribeStackEvents", {"StackEvents": list(newest_first)}, StackName=name
    )


def first_deploy(status: str, number: float) -> Recording:
    recording = stack(Recording(), "deploy", MODELS_STACK, "CREATE_COMPLETE")
    stack(recording, "deploy", ENDPOINT_STACK, status)
    return recording("invoke", "InvokeEndpoint", {"Y": number}, Model="probe", X=7.0)


def durations(seconds: int) -> Recording:
    rows = {f"`{MODELS_STACK}`": 10, "builds": 10, "update of its endpoint": 10}
    recording = Recording()("deploy", "TimeBudget", rows)
    for step, name, kind in (
        ("deploy", MODELS_STACK, "AWS::CloudFormation::Stack"),
        ("deploy", ENDPOINT_STACK, "Custom::TritonModel"),
        ("update", ENDPOINT_STACK, "AWS::SageMaker::Endpoint"),
    ):
        begun, ended = event(kind, "CREATE_IN_PROGRESS"), event(kind, "CREATE_COMPLETE", seconds)
        events(recording, step, name, ended, begun)
    return recording


def endpoint(recording: Recording, step: str, status: str, config: str, **more: Any) -> Recording:
    response = {"EndpointStatus": status, "EndpointConfigName": config, **more}
    return recording(step, "DescribeEndpoint", response)


def pending(config: str) -> dict[str, Any]:
    return {"PendingDeploymentSummary": {"EndpointConfigName": config}}


def rolled_back(step: str, status: str, *, by_sagemaker: bool = True) -> Recording:
    """Return responses of a rollback by SageMaker, or by CloudFormation after a finished update."""
    recording = endpoint(Recording(), step, "InService", "old")
    endpoint(recording, step, "Updating", "old", **pending("new"))
    if not by_sagemaker:
        endpoint(recording, step, "InService", "new")
    endpoint(recording, step, "InService", "old")
    kind = "AWS::SageMaker::Endpoint"
    late = event(kind, "UPDATE_COMPLETE", 60)  # from the rollback of CloudFormation
    begun, ended = event(kind, "UPDATE_IN_PROGRESS"), event(kind, status, 30)
    return events(recording, step, ENDPOINT_STACK, late, ended, begun)


def refused_update(step: str) -> Recording:
    reason = "Limit exceeded (Service: SageMaker, Status Code: 400, Request ID: 1)"
    ended = event("AWS::SageMaker::Endpoint", "UPDATE_FAILED", reason=reason)
    return events(Recording(), step, ENDPOINT_STACK, ended)


def scaling(status: str = "Updating", config: str = "one", **more: Any) -> Recording:
    recording = endpoint(Recording(), "scale", "InService", "one")
    return endpoint(recording, "scale", status, config, **more)


def updated(step: str, error: str = "") -> Recording:
    return Recording()(step, "UpdateEndpoint", error=error)


def variants(*names: str) -> Recording:
    variants_response = [{"VariantName": name} for name in names]
    recording = updated("another variant")
    return endpoint(
        recording, "another variant", "InService", "variants", ProductionVariants=variants_response
    )


def quotas(*names: str) -> Recording:
    return Recording()("quotas", "Quotas", dict.fromkeys(names, 1.0), Names=["one", "two"])


def accepted(operation: str, error: str = "") -> Recording:
    return Recording()("configurations", operation)("configurations", operation, error=error)


def simulated(decision: str, *, control: str = "allowed") -> Recording:
    decisions = {
        "sagemaker:DeleteEndpoint": control,
        "iam:CreateUser": "implicitDeny",
        "s3:GetObject": decision,
    }
    results = [
        {"EvalActionName": action, "EvalDecision": result} for action, result in decisions.items()
    ]
    return Recording()("policies", "SimulateCustomPolicy", {"EvaluationResults": results})


def configured(operation: str = "DescribeEndpointConfig", **metrics: bool) -> Recording:
    return Recording()("configurations", operation, {"MetricsConfig": metrics})


def routes(strategy: str) -> Recording:
    variant = {"RoutingConfig": {"RoutingStrategy": strategy}}
    return endpoint(Recording(), "update", "InService", "one", ProductionVariants=[variant])


def routing_refused(*, plain: str) -> Recording:
    recording, create = Recording(), "CreateEndpointConfig"
    recording("configurations", create, error=plain, EndpointConfigName="free-plain")
    refusal = "ValidationException"
    return recording("configurations", create, error=refusal, EndpointConfigName="free-routed")


def config_of(step: str, error: str = "") -> Recording:
    return Recording()(step, "CreateEndpointConfig", error=error)


def listed(namespace: str, minute: int, *metrics: tuple[str, list[str]]) -> Recording:
    """Return the metrics of a namespace, `minute` minutes after the first invocation."""
    rows = [{"MetricName": name, "Dimensions": dimensions} for name, dimensions in metrics]
    recording = Recording()("invoke", "InvokeEndpoint", {"Y": 14.0}, X=7.0, minute=0)
    answer = {"Metrics": rows}
    return recording("metrics", "ListMetrics", answer, Namespace=namespace, minute=minute)


def counted(new: int) -> Recording:
    recording, operation = Recording(), "GetMetricStatistics"
    for dimensions, count in ((["a", "b", "c"], new), (["a", "b"], 100)):
        points = [{"Timestamp": BEGAN, "SampleCount": count}]
        recording("alarm", operation, {"Datapoints": points}, Dimensions=dimensions)
    return recording


def backend(message: str) -> Recording:
    recording = Recording()("backend", "InvokeEndpoint", error="ModelError")
    (answer,) = recording.answers
    assert answer.error is not None
    answer.error["Message"] = message
    return recording


def key_events(minute: int, *names: str) -> Recording:
    recording = listed("AWS/SageMaker", 0)
    answer = {"Events": [{"EventName": name} for name in names]}
    return recording("metrics", "LookupEvents", answer, minute=minute)


ERRORS = "InvocationModelErrors"
NAME, CONFIG = "EndpointName", "EndpointConfigName"
CONFIRMED: dict[str, Make] = {
    "another-variant": lambda: variants("AllTraffic", "Second"),
    "canary-rounding": lambda: counted(50),
    "cloudformation-sees-alarm-rollback": lambda: rolled_back("alarm", "UPDATE_FAILED"),
    "cloudformation-sees-failed-update": lambda: rolled_back("failed update", "UPDATE_FAILED"),
    "create-model": lambda: accepted("CreateModel"),
    "dali-in-cpu-images": lambda: backend(
        "Invalid argument: unable to find backend library for backend 'dali', try specifying "
        "runtime on the model configuration."
    ),
    "detailed-observability": lambda: configured(EnableDetailedObservability=True),
    "durations": lambda: durations(600),
    "first-deploy": lambda: first_deploy("CREATE_COMPLETE", 14.0),
    "kms-describe-key": lambda: key_events(1, "CreateGrant", "DescribeKey"),
    "least-outstanding-requests": lambda: routes("LEAST_OUTSTANDING_REQUESTS"),
    "model-errors-dimension": lambda: listed("AWS/SageMaker", 1, (ERRORS, [NAME, CONFIG])),
    "multi-model-pools": lambda: config_of("pools"),
    "policies": lambda: simulated("allowed"),
    "quotas": lambda: quotas("one", "two"),
    "scaling-status": scaling,
    "stack-rollback": lambda: stack(
        Recording(), "alarm", ENDPOINT_STACK, "UPDATE_ROLLBACK_COMPLETE"
    ),
    "templates": lambda: accepted("ValidateTemplate"),
    "triton-metrics": lambda: listed("Triton/one", 1, ("nv_inference_count", ["model"])),
    "update-to-what-serves": lambda: updated("same configuration"),
    "zero-instances": lambda: config_of("components"),
}
REFUSAL = "ValidationException"
REFUTED: dict[str, Make] = {
    "another-variant": lambda: updated("another variant", REFUSAL),
    "canary-rounding": lambda: counted(10),
    "cloudformation-sees-alarm-rollback": lambda: rolled_back("alarm", "UPDATE_COMPLETE"),
    "cloudformation-sees-failed-update": lambda: rolled_back("failed update", "UPDATE_COMPLETE"),
    "create-model": lambda: accepted("CreateModel", REFUSAL),
    "dali-in-cpu-images": lambda: backend("DALI Backend error: not a pipeline"),
    "detailed-observability": lambda: configured(EnableDetailedObservability=False),
    "durations": lambda: durations(601),
    "first-deploy": lambda: first_deploy("ROLLBACK_COMPLETE", 14.0),
    "kms-describe-key": lambda: key_events(15, "CreateGrant"),
    "least-outstanding-requests": lambda: routing_refused(plain=""),
    "model-errors-dimension": lambda: listed("AWS/SageMaker", 15, (ERRORS, [NAME])),
    "multi-model-pools": lambda: config_of("pools", REFUSAL),
    "policies": lambda: simulated("implicitDeny"),
    "quotas": lambda: quotas("one"),
    "scaling-status": lambda: scaling(**pending("one")),
    "stack-rollback": lambda: stack(
        Recording(), "failed update", ENDPOINT_STACK, "UPDATE_ROLLBACK_FAILED"
    ),
    "templates": lambda: accepted("ValidateTemplate", "ValidationError"),
    "triton-metrics": lambda: listed("Triton/one", 15),
    "update-to-what-serves": lambda: updated("same configuration", REFUSAL),
    "zero-instances": lambda: config_of("components", REFUSAL),
}
NOT_SHOWN: dict[str, Make] = {
    "another-variant": lambda: updated("another variant", "ResourceLimitExceeded"),
    "canary-rounding": lambda: counted(100),
    "cloudformation-sees-alarm-rollback": lambda: rolled_back(
        "alarm", "UPDATE_COMPLETE", by_sagemaker=False
    ),
    "cloudformation-sees-failed-update": lambda: refused_update("failed update"),
    "create-model": lambda: accepted("CreateModel", "AccessDeniedException"),
    "dali-in-cpu-images": lambda: backend("the request timed out"),
    "detailed-observability": configured,
    "first-deploy": lambda: stack(Recording(), "deploy", ENDPOINT_STACK, "CREATE_IN_PROGRESS"),
    "kms-describe-key": lambda: key_events(14, "CreateGrant"),
    "least-outstanding-requests": lambda: routing_refused(plain=REFUSAL),
    "model-errors-dimension": lambda: listed("AWS/SageMaker", 14, (ERRORS, [NAME])),
    "multi-model-pools": lambda: config_of("pools", "AccessDeniedException"),
    "policies": lambda: simulated("implicitDeny", control="implicitDeny"),
    "triton-metrics": lambda: listed("Triton/one", 14),
}
OBSERVABLE = {name for name, check in CHECKS.items() if not check.not_observable}


def decide(check: str, answers: Answers) -> StatementResult:
    return CHECKS[check].decide(answers).result


def test_every_observable_check_has_confirming_and_refuting_case() -> None:
    assert CONFIRMED.keys() == REFUTED.keys() == OBSERVABLE


@pytest.mark.parametrize("check", CONFIRMED)
def test_check_is_confirmed(check: str) -> None:
    finding = CHECKS[check].decide(CONFIRMED[check]().answers)
    assert (finding.result, bool(finding.answers)) == (StatementResult.CONFIRMED, True), finding


@pytest.mark.parametrize("check", REFUTED)
def test_check_is_refuted(check: str) -> None:
    finding = CHECKS[check].decide(REFUTED[check]().answers)
    assert (finding.result, bool(finding.answers)) == (StatementResult.REFUTED, True), finding


@pytest.mark.parametrize("check", NOT_SHOWN)
def test_ambiguous_responses_are_inconclusive(check: str) -> None:
    assert decide(check, NOT_SHOWN[check]().answers) == StatementResult.INCONCLUSIVE


@pytest.mark.parametrize("check", CHECKS)
def test_check_without_responses_is_inconclusive(check: str) -> None:
    assert decide(check, Answers()) == StatementResult.INCONCLUSIVE


def test_docs_list_every_check_exactly_once() -> None:
    page = (ROOT / "docs" / "aws.md").read_text()
    section = page.partition("## What only a real account will show")[2].partition("\n## ")[0]
    rows = [line.split(" | ") for line in section.splitlines() if line.startswith("| ")][2:]
    check_names = [re.findall(r"`([a-z-]+)`", row[-1]) for row in rows]
    assert rows
    assert all(check_names), "a question names no check"
    assert sorted(name for names in check_names for name in names) == sorted(CHECKS)


def test_unobservable_check_states_its_reason() -> None:
    hidden = {
        check.id: check.decide(Answers()).evidence for check in checks() if check.not_observable
    }
    assert hidden["tensorrt-engines"] == (
        "not observable in this run: needs a build on CodeBuild's GPU and a GPU endpoint"
    )
