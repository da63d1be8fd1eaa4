"""Checks of deployments: what CloudFormation and SageMaker did."""

import re
from typing import Any

import cdk_cli
from account_test.answers import Answer, Answers, Record
from account_test.findings import Finding, found, missing
from account_test.names import ENDPOINT_STACK, MODELS_STACK

REFUSED = ("InvalidInput", "ValidationError", "ValidationException")
"""Codes of a refusal that is about the request; others, such as AccessDenied, show nothing."""
REFUSED_CALL = re.compile(r"Status Code: 4\d\d")
"""Of a reason of CloudFormation, where a service refused a call: nothing was begun."""
FAILED = re.compile("ROLLBACK|FAILED|DELETE")
ENDPOINT = "AWS::SageMaker::Endpoint"
TIMED = (
    ("deploy", MODELS_STACK, "AWS::CloudFormation::Stack", f"`{MODELS_STACK}`"),
    ("deploy", ENDPOINT_STACK, "Custom::TritonModel", "builds"),
    ("update", ENDPOINT_STACK, ENDPOINT, "its endpoint's update"),
)
"""Step, stack and type of the resources that are timed, and the row of the time budget."""


def first_deploy(answers: Answers) -> Finding:
    """Decide by the statuses of the stacks, and by the answer of the model."""
    stacks = [it for it in answers.of("DescribeStacks", "deploy") if it.response]
    failed = [it for it in stacks if FAILED.search(it.response["StackStatus"])]
    if failed:
        statuses = ", ".join(it.response["StackStatus"] for it in failed)
        return found(False, f"{statuses}: {_failures(answers, 'deploy')}", *failed)
    invoked = answers.of("InvokeEndpoint", "invoke")[:1]
    if len(stacks) < 2 or not invoked:
        return missing("not every stack was deployed, or the model was not invoked", *stacks)
    right = invoked[0].response.get("Y") == 2 * invoked[0].request["X"]
    return found(right, f"the model answers {_said(invoked[0])}", *stacks, *invoked)


def cloudformation_sees_failed_update(answers: Answers) -> Finding:
    """Decide by the endpoint's events, where new containers did not start."""
    return _sees_rollback(answers, "failed update")


def cloudformation_sees_alarm_rollback(answers: Answers) -> Finding:
    """Decide by the endpoint's events, where an alarm went off."""
    return _sees_rollback(answers, "alarm")


def stack_rollback(answers: Answers) -> Finding:
    """Decide by the stack's first status after each deploy that was to be rolled back."""
    ended = [
        it
        for step in ("failed update", "alarm")
        for it in [*_of_stack(answers, "DescribeStacks", step, ENDPOINT_STACK)][:1]
        if "ROLLBACK" in it.response["StackStatus"]
    ]
    statuses = [it.response["StackStatus"] for it in ended]
    if not ended:
        return missing("the stack was not rolled back")
    return found({*statuses} == {"UPDATE_ROLLBACK_COMPLETE"}, ", ".join(statuses), *ended)


def update_to_what_serves(answers: Answers) -> Finding:
    """Decide by UpdateEndpoint's answer to the configuration that serves."""
    return accepted(answers.of("UpdateEndpoint", "same configuration"))


def another_variant(answers: Answers) -> Finding:
    """Decide by UpdateEndpoint's answer, and by the variants that serve afterwards."""
    updated = answers.of("UpdateEndpoint", "another variant")
    endpoints = _endpoints(answers, "another variant")[-1:]
    if not updated or updated[0].error or not endpoints:
        return accepted(updated)
    status = endpoints[0].response["EndpointStatus"]
    names = [it["VariantName"] for it in endpoints[0].response["ProductionVariants"]]
    evidence = f"{status} with the variants {', '.join(names)}"
    taken = len(names) == 2 and status == "InService"
    return found(taken, evidence, *updated, *endpoints)


def scaling_status(answers: Answers) -> Finding:
    """Decide by what DescribeEndpoint says while the number of instances changes."""
    endpoints = _endpoints(answers, "scale")
    changing = [it for it in endpoints if it.response["EndpointStatus"] != "InService"]
    if not changing:
        return missing("DescribeEndpoint never said anything but InService")
    statuses = {it.response["EndpointStatus"] for it in changing}
    configs = {it.response["EndpointConfigName"] for it in endpoints}
    pending = any(map(_pending, changing))
    evidence = (
        f"{', '.join(sorted(statuses))}, {len(configs)} EndpointConfigName, "
        f"{'a' if pending else 'no'} PendingDeploymentSummary"
    )
    as_stated = statuses == {"Updating"} and len(configs) == 1 and not pending
    return found(as_stated, evidence, *changing[:1])


def durations(answers: Answers) -> Finding:
    """Decide by the times of CloudFormation's events, against the budget of a delivery."""
    parts, used = [], list(answers.of("TimeBudget")[:1])
    for step, stack, kind, row in TIMED:
        times = [it["Timestamp"] for it in _events(answers, step, stack, kind)]
        if not times or not used:
            return missing(f"{row} was not seen to end", *used)
        seconds, most = (max(times) - min(times)).total_seconds(), 60 * used[0].response[row]
        parts.append((seconds <= most, f"{row}: {seconds:.0f} s of {most} s"))
        used += _of_stack(answers, "DescribeStackEvents", step, stack)
    return found(all(within for within, _ in parts), "; ".join(it for _, it in parts), *used)


def accepted(answers: Answers) -> Finding:
    """Decide by the last answer to one request: accepted, or refused because of the request."""
    if not answers:
        return missing("it was not called")
    error = answers[-1].error
    if error and error["Code"] not in REFUSED:
        return missing(_said(answers[-1]), answers[-1])
    return found(error is None, _said(answers[-1]), answers[-1])


def _sees_rollback(answers: Answers, step: str) -> Finding:
    """Decide whether CloudFormation fails the endpoint whose update SageMaker has rolled back."""
    events = _events(answers, step, ENDPOINT_STACK, ENDPOINT)
    ends = [it for it in events if not it["ResourceStatus"].endswith("_IN_PROGRESS")][:1]
    used = _of_stack(answers, "DescribeStackEvents", step, ENDPOINT_STACK)
    if not ends:
        return missing("CloudFormation did not say how the endpoint's update ended")
    status, reason = ends[0]["ResourceStatus"], ends[0].get("ResourceStatusReason", "")
    evidence = f"the endpoint is {status}; in the stack: {_failures(answers, step)}"
    if status == "UPDATE_FAILED":
        return found(None if REFUSED_CALL.search(reason) else True, evidence, *used)
    endpoints = _endpoints(answers, step)
    new = {_pending(it) for it in endpoints} - {None, endpoints[0].response["EndpointConfigName"]}
    deploying = [it for it in endpoints if _pending(it) in new][:1]
    settled = [it for it in endpoints if it.response["EndpointStatus"] == "InService"]
    back = [it for it in settled if deploying and it.date > deploying[0].date][:1]
    if not back or any(it.response["EndpointConfigName"] in new for it in settled):
        return missing("SageMaker was not seen to roll an update back", *used)
    return found(False, evidence, *deploying, *back, *used)


def _endpoints(answers: Answers, step: str) -> list[Answer]:
    return [it for it in answers.of("DescribeEndpoint", step) if it.response]


def _pending(endpoint: Answer) -> Any:
    """Return the configuration that is being deployed, None where there is none."""
    return endpoint.response.get("PendingDeploymentSummary", {}).get("EndpointConfigName")


def _of_stack(answers: Answers, operation: str, step: str, stack: str) -> list[Answer]:
    asked = answers.of(operation, step)
    return [it for it in asked if it.response and it.request["StackName"] == stack]


def _events(answers: Answers, step: str, stack: str, kind: str) -> list[Record]:
    """Return a stack's events of one type of resource, the oldest first."""
    kept = _of_stack(answers, "DescribeStackEvents", step, stack)
    events = [it for answer in kept for it in answer.response["StackEvents"]]
    return sorted(
        (it for it in events if it["ResourceType"] == kind), key=lambda it: it["Timestamp"]
    )


def _failures(answers: Answers, step: str) -> str:
    """Return what failed in a step, in CloudFormation's words."""
    kept = [it for it in answers.of("DescribeStackEvents", step) if it.response]
    events = [it for answer in kept for it in answer.response["StackEvents"]]
    failed = [it for it in events if it["ResourceStatus"].endswith("_FAILED")]
    reasons = (
        f"{it['LogicalResourceId']}: {cdk_cli.useful(it.get('ResourceStatusReason', ''))}"
        for it in failed
    )
    return "; ".join(reasons) or "nothing failed"


def _said(answer: Answer) -> str:
    error = answer.error
    return f"{error['Code']}: {error['Message']}" if error else str(answer.response or "accepted")
