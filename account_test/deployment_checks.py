"""Checks of deployments and updates by CloudFormation and SageMaker."""

import re
from typing import Any

from account_test.answers import Answer, Answers, Record
from account_test.findings import StatementFinding, finding_for, inconclusive
from account_test.names import ENDPOINT_STACK, MODELS_STACK
from release.delivery.stack_failures import readable_reason

REJECTION_CODES = ("InvalidInput", "ValidationError", "ValidationException")
"""Error codes that reject the request itself; others, such as AccessDenied, prove nothing."""
REJECTED_CALL = re.compile(r"Status Code: 4\d\d")
"""Part of CloudFormation's reason if a service rejected the call, so no update started."""
FAILED_STATUS = re.compile("ROLLBACK|FAILED|DELETE")
ENDPOINT = "AWS::SageMaker::Endpoint"
TIMED_OPERATIONS = (
    ("deploy", MODELS_STACK, "AWS::CloudFormation::Stack", f"`{MODELS_STACK}`"),
    ("deploy", ENDPOINT_STACK, "Custom::TritonModel", "builds"),
    ("update", ENDPOINT_STACK, ENDPOINT, "update of its endpoint"),
)
"""Step, stack and resource type to measure, and the row of the time budget to compare."""


def first_deploy(answers: Answers) -> StatementFinding:
    """Decide by the statuses of the stacks and the response of the model."""
    stacks = answers.of("DescribeStacks", "deploy").successful
    failed = [stack for stack in stacks if FAILED_STATUS.search(stack.response["StackStatus"])]
    if failed:
        statuses = ", ".join(stack.response["StackStatus"] for stack in failed)
        return finding_for(False, f"{statuses}: {_failures(answers, 'deploy')}", *failed)
    invocations = answers.of("InvokeEndpoint", "invoke")[:1]
    if len(stacks) < 2 or not invocations:
        return inconclusive("not every stack was deployed, or the model was not invoked", *stacks)
    (invocation,) = invocations
    is_correct = invocation.response.get("Y") == 2 * invocation.request["X"]
    return finding_for(is_correct, f"the model answers {invocation.summary}", *stacks, invocation)


def cloudformation_sees_failed_update(answers: Answers) -> StatementFinding:
    """Decide by the endpoint's events in an update whose containers do not start."""
    return _decide_rollback_report(answers, "failed update")


def cloudformation_sees_alarm_rollback(answers: Answers) -> StatementFinding:
    """Decide by the endpoint's events in an update that an alarm rolls back."""
    return _decide_rollback_report(answers, "alarm")


def stack_rollback(answers: Answers) -> StatementFinding:
    """Decide by the stack's first status after each deployment that must be rolled back."""
    stacks = [
        stack
        for step in ("failed update", "alarm")
        for stack in _of_stack(answers, "DescribeStacks", step, ENDPOINT_STACK)[:1]
        if "ROLLBACK" in stack.response["StackStatus"]
    ]
    statuses = [stack.response["StackStatus"] for stack in stacks]
    if not stacks:
        return inconclusive("the stack was not rolled back")
    return finding_for({*statuses} == {"UPDATE_ROLLBACK_COMPLETE"}, ", ".join(statuses), *stacks)


def update_to_what_serves(answers: Answers) -> StatementFinding:
    """Decide by the response of UpdateEndpoint with the current configuration."""
    return accepted(answers.of("UpdateEndpoint", "same configuration"))


def another_variant(answers: Answers) -> StatementFinding:
    """Decide by the response of UpdateEndpoint and the variants after the update."""
    updates = answers.of("UpdateEndpoint", "another variant")
    endpoints = answers.of("DescribeEndpoint", "another variant").successful[-1:]
    if not updates or updates[0].error or not endpoints:
        return accepted(updates)
    (endpoint,) = endpoints
    status = endpoint.response["EndpointStatus"]
    names = [variant["VariantName"] for variant in endpoint.response["ProductionVariants"]]
    evidence = f"{status} with the variants {', '.join(names)}"
    return finding_for(len(names) == 2 and status == "InService", evidence, *updates, endpoint)


def scaling_status(answers: Answers) -> StatementFinding:
    """Decide by responses of DescribeEndpoint while the number of instances changes."""
    endpoints = answers.of("DescribeEndpoint", "scale").successful
    changing = [answer for answer in endpoints if answer.response["EndpointStatus"] != "InService"]
    if not changing:
        return inconclusive("DescribeEndpoint always returned InService")
    statuses = {answer.response["EndpointStatus"] for answer in changing}
    configs = {answer.response["EndpointConfigName"] for answer in endpoints}
    pending = any(map(_pending_config, changing))
    evidence = (
        f"{', '.join(sorted(statuses))}, {len(configs)} EndpointConfigName, "
        f"{'a' if pending else 'no'} PendingDeploymentSummary"
    )
    as_stated = statuses == {"Updating"} and len(configs) == 1 and not pending
    return finding_for(as_stated, evidence, *changing[:1])


def durations(answers: Answers) -> StatementFinding:
    """Decide by comparing the times of CloudFormation's events with the time budget."""
    budgets = answers.of("TimeBudget")[:1]
    in_time, evidence, used_answers = [], [], list(budgets)
    for step, stack, resource_type, row in TIMED_OPERATIONS:
        times = [event["Timestamp"] for event in _events(answers, step, stack, resource_type)]
        if not times or not budgets:
            return inconclusive(f"no events show how long {row} took", *used_answers)
        seconds, limit = (max(times) - min(times)).total_seconds(), 60 * budgets[0].response[row]
        in_time.append(seconds <= limit)
        evidence.append(f"{row}: {seconds:.0f} s of {limit} s")
        used_answers += _of_stack(answers, "DescribeStackEvents", step, stack)
    return finding_for(all(in_time), "; ".join(evidence), *used_answers)


def accepted(answers: Answers) -> StatementFinding:
    """Decide by the last response of one operation: accepted, or rejected by its content."""
    if not answers:
        return inconclusive("the operation was not called")
    last = answers[-1]
    if last.error and last.error["Code"] not in REJECTION_CODES:
        return inconclusive(last.summary, last)
    return finding_for(last.error is None, last.summary, last)


def _decide_rollback_report(answers: Answers, step: str) -> StatementFinding:
    """Decide whether CloudFormation reports an update that SageMaker has rolled back as failed."""
    events = _events(answers, step, ENDPOINT_STACK, ENDPOINT)
    results = [event for event in events if not event["ResourceStatus"].endswith("_IN_PROGRESS")]
    if not results:
        return inconclusive("no stack event has the result of the endpoint's update")
    stack_events = _of_stack(answers, "DescribeStackEvents", step, ENDPOINT_STACK)
    status, reason = results[0]["ResourceStatus"], results[0].get("ResourceStatusReason", "")
    evidence = f"the endpoint is {status}; in the stack: {_failures(answers, step)}"
    if status == "UPDATE_FAILED":
        return finding_for(None if REJECTED_CALL.search(reason) else True, evidence, *stack_events)
    endpoints = answers.of("DescribeEndpoint", step).successful
    new_configs = {*map(_pending_config, endpoints)} - {None, *map(_config, endpoints[:1])}
    deploying = [endpoint for endpoint in endpoints if _pending_config(endpoint) in new_configs][:1]
    in_service = [
        answer for answer in endpoints if answer.response["EndpointStatus"] == "InService"
    ]
    final = [answer for answer in in_service if deploying and answer.date > deploying[0].date]
    if not final or any(_config(answer) in new_configs for answer in in_service):
        return inconclusive("no response shows that SageMaker rolled back an update", *stack_events)
    return finding_for(False, evidence, *deploying, final[0], *stack_events)


def _config(endpoint: Answer) -> Any:
    return endpoint.response["EndpointConfigName"]


def _pending_config(endpoint: Answer) -> Any:
    """Return the configuration that is being deployed, or None."""
    return endpoint.response.get("PendingDeploymentSummary", {}).get("EndpointConfigName")


def _of_stack(answers: Answers, operation: str, step: str, stack: str) -> list[Answer]:
    successful = answers.of(operation, step).successful
    return [answer for answer in successful if answer.request["StackName"] == stack]


def _events(answers: Answers, step: str, stack: str, resource_type: str) -> list[Record]:
    """Return a stack's events of a resource type, oldest first."""
    events = [
        event
        for answer in _of_stack(answers, "DescribeStackEvents", step, stack)
        for event in answer.response["StackEvents"]
        if event["ResourceType"] == resource_type
    ]
    return sorted(events, key=lambda event: event["Timestamp"])


def _failures(answers: Answers, step: str) -> str:
    """Return the failure reasons of a step's stack events."""
    successful = answers.of("DescribeStackEvents", step).successful
    events = [event for answer in successful for event in answer.response["StackEvents"]]
    reasons = (
        f"{event['LogicalResourceId']}: {readable_reason(event.get('ResourceStatusReason', ''))}"
        for event in events
        if event["ResourceStatus"].endswith("_FAILED")
    )
    return "; ".join(reasons) or "nothing failed"
