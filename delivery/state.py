"""The state of a stage's stacks and endpoints: in progress, complete or faulty."""

from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from delivery.errors import CAPACITY_RUNBOOK, NO_CAPACITY, Unfinished
from delivery.steps import wait_while
from plan.deployed import endpoint_description, stack_description
from plan.document import EndpointSettings
from release.templates import Template, resources

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

COMPLETE_STATUSES = (
    *("CREATE_COMPLETE", "UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE"),
    *("IMPORT_COMPLETE", "IMPORT_ROLLBACK_COMPLETE"),
)
"""Statuses of a stack whose resources match its template.

Source: CloudFormation user guide, "Stack status codes".
"""
MISSING = "missing"
"""The status of a stack that does not exist."""
ENDPOINT_CONFIG = "AWS::SageMaker::EndpointConfig"
IDLE_STATUSES = ("InService", "Failed", "OutOfService", "UpdateRollbackFailed")
"""Statuses of an endpoint that is not changing (SageMaker API reference, DescribeEndpoint)."""
SCALING_STATUSES = ("Updating", "RollingBack")
"""Statuses of an endpoint that scales or is updated (SageMaker API reference, DescribeEndpoint).

Only an update to another configuration has a PendingDeploymentSummary.
"""
ROLLBACK_RUNBOOK = 'docs/runbook.md, "CloudFormation could not roll an update back"'
GONE_RUNBOOK = 'docs/runbook.md, "An endpoint is gone"'
SILENT_ROLLBACK_RUNBOOK = 'docs/runbook.md, "An update was rolled back in silence"'


def wait_for_stacks(
    cloudformation: "CloudFormationClient", stacks: Iterable[str], *, deadline: float
) -> list[str]:
    """Wait until no operation is in progress on any of `stacks`.

    Return those with an operation at `deadline` (`time.monotonic` seconds), as in
    `prod-text is still UPDATE_IN_PROGRESS`.

    The cdk CLI does not wait: it skips a stack in progress that already has the new template, and
    creates a change set for any other (canSkipDeploy and deployStack of aws-cdk 2.1148.1).
    CloudFormation ends an endpoint's update after 970 minutes at the latest
    (`timeoutInMinutes` in the schema of AWS::SageMaker::Endpoint).
    """
    statuses = {
        stack: wait_while(
            stack, partial(_operation_status, cloudformation, stack), deadline=deadline
        )
        for stack in stacks
    }
    return [f"{stack} is still {status}" for stack, status in statuses.items() if status]


def operations_in_progress(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> list[str]:
    """Return the stacks with an operation in progress, as `prod-text (UPDATE_IN_PROGRESS)`."""
    statuses = {stack: _operation_status(cloudformation, stack) for stack in stacks}
    return [f"{stack} ({status})" for stack, status in statuses.items() if status]


def stacks_with_failed_rollback(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> list[str]:
    """Return the stacks in UPDATE_ROLLBACK_FAILED, which CloudFormation does not update.

    ContinueUpdateRollback repairs such a stack (CloudFormation user guide, "Continue rolling back
    an update").
    """
    statuses = incomplete_stacks(cloudformation, stacks)
    return [stack for stack, status in statuses.items() if status == "UPDATE_ROLLBACK_FAILED"]


def incomplete_stacks(
    cloudformation: "CloudFormationClient", stacks: Iterable[str]
) -> dict[str, str]:
    """Return the status of each stack whose resources may not match its template.

    After a completed rollback the resources match the template before the update. The cdk CLI skips
    a stack that already has the new template, in any status (canSkipDeploy of aws-cdk 2.1148.1).
    """
    statuses = {stack: _status(cloudformation, stack) or MISSING for stack in stacks}
    return {stack: status for stack, status in statuses.items() if status not in COMPLETE_STATUSES}


def _operation_status(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    """Return the status of a stack with an operation in progress, else None.

    A stack in REVIEW_IN_PROGRESS only has a change set, which the cdk CLI replaces.
    """
    status = _status(cloudformation, stack)
    if status and status.endswith("_IN_PROGRESS") and status != "REVIEW_IN_PROGRESS":
        return status
    return None


def _status(cloudformation: "CloudFormationClient", stack: str) -> str | None:
    description = stack_description(cloudformation, stack)
    return description["StackStatus"] if description else None


def describe_stuck_rollback(cloudformation: "CloudFormationClient", stack: str) -> str:
    """Return a message with the failed resources, and the commands that continue the rollback."""
    failures = _failed_resources(cloudformation, stack)
    lines = [
        f"{stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not roll back an update, and "
        "does not change this stack until the rollback is continued",
        *(f"{name} failed: {reason}" for name, reason in failures.items()),
        f"Remove the cause, and run the commands of {ROLLBACK_RUNBOOK}, with NAME={stack}; if it "
        f"fails again, with --resources-to-skip {' '.join(failures)}. Then deliver again",
    ]
    return "\n  ".join(lines)


def _failed_resources(cloudformation: "CloudFormationClient", stack: str) -> dict[str, str]:
    """Return resource -> reason for the resources that failed in the last attempt to roll back.

    Each attempt begins with an event of the stack; events are listed newest first.
    """
    reasons = dict[str, str]()
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    for event in (event for page in pages for event in page["StackEvents"]):
        if event["ResourceStatus"] == "UPDATE_ROLLBACK_IN_PROGRESS":
            break
        if event["ResourceStatus"] == "UPDATE_FAILED":
            reason = event.get("ResourceStatusReason", "").rpartition("Message returned: ")[2]
            reasons[event["LogicalResourceId"]] = reason.split("\n")[0].partition(". ")[0]
    return dict(reversed(reasons.items()))


class EndpointFault(NamedTuple):
    """A fault of an endpoint.

    predicate: what follows the endpoint's name in a sentence, such as "is RollingBack".
    runbook: the section of the runbook that repairs it, if there is one.
    must_be_recreated: whether the endpoint cannot be updated, only deleted and created again.
    """

    predicate: str
    runbook: str | None = None
    must_be_recreated: bool = False


def wait_for_endpoints(
    sagemaker: "SageMakerClient", names: Iterable[str], *, deadline: float
) -> list[str]:
    """Wait until no endpoint is updating or scaling: SageMaker refuses a second update.

    Return the others as `wait_for_stacks` does. Scaling that gets no instances is repeated while
    the load lasts.
    """
    statuses = {
        name: wait_while(name, partial(_endpoint_operation, sagemaker, name), deadline=deadline)
        for name in names
    }
    return [f"{name} is still {status}" for name, status in statuses.items() if status]


def endpoint_fault(
    sagemaker: "SageMakerClient",
    cloudformation: "CloudFormationClient",
    endpoint: EndpointSettings,
    template: Template,
    *,
    deadline: float,
) -> EndpointFault | None:
    """Wait while an endpoint is updating; return its fault, None if it has none.

    `template` is that of its stack. Raise `Unfinished` if the endpoint is still updating at
    `deadline` (`time.monotonic` seconds).

    After a rollback by SageMaker, the endpoint is InService with the old configuration, and tools
    that wait for InService report success
    (https://github.com/hashicorp/terraform-provider-aws/issues/48997). Therefore the configuration
    is compared with the one that CloudFormation created.
    """
    name, stack = endpoint.name, endpoint.stack
    update = partial(_endpoint_operation, sagemaker, name, include_scaling=False)
    if status := wait_while(name, update, deadline=deadline):
        raise Unfinished(
            f"everything is deployed, but {name} is still {status} after the time limit"
        )
    description = endpoint_description(sagemaker, name)
    if description is None:
        return EndpointFault("does not exist: it was deleted", GONE_RUNBOOK, must_be_recreated=True)
    status, reason = description["EndpointStatus"], description.get("FailureReason")
    suffix = f": {reason}" if reason else ""
    if status == "Failed":
        text = f"has failed, and SageMaker can only delete it{suffix}"
        return EndpointFault(text, GONE_RUNBOOK, must_be_recreated=True)
    if status not in ("InService", *SCALING_STATUSES):
        return EndpointFault(f"is {status}{suffix}")
    config = next(logical_id for logical_id, _ in resources(template, ENDPOINT_CONFIG))
    resource = cloudformation.describe_stack_resource(StackName=stack, LogicalResourceId=config)[
        "StackResourceDetail"
    ]
    deployed_config = resource.get("PhysicalResourceId", "").rpartition("/")[2]
    serving_config = description["EndpointConfigName"]
    if serving_config.lower() == deployed_config.lower():  # ARNs have the name in lower case
        return None
    return EndpointFault(
        f"was rolled back although its deploy succeeded: it serves with {serving_config}, "
        f"but {stack} created {deployed_config}{suffix}",
        SILENT_ROLLBACK_RUNBOOK,
    )


def _endpoint_operation(
    sagemaker: "SageMakerClient", name: str, *, include_scaling: bool = True
) -> str | None:
    """Return the status of an endpoint that is updating or scaling, else None.

    Without `include_scaling`, return None for an endpoint that only scales.
    """
    description = endpoint_description(sagemaker, name)
    if description is None or description["EndpointStatus"] in IDLE_STATUSES:
        return None
    status = description["EndpointStatus"]
    is_scaling = status in SCALING_STATUSES and "PendingDeploymentSummary" not in description
    if is_scaling and not include_scaling:
        return None
    return f"{status}{_missing_instances(description)}"


def _missing_instances(description: Mapping[str, Any]) -> str:
    """Return which variants of an endpoint lack instances, in parentheses."""
    serving = description.get("ProductionVariants", ())
    counts = [
        f"{variant['VariantName']} has {current} of {variant['DesiredInstanceCount']} instances"
        for variant in description.get("PendingDeploymentSummary", {}).get(
            "ProductionVariants", serving
        )
        if (current := variant.get("CurrentInstanceCount", 0))
        < variant.get("DesiredInstanceCount", 0)
    ]
    if not counts:
        return ""
    no_capacity = NO_CAPACITY in description.get("FailureReason", "")
    condition = "AWS had no capacity" if no_capacity else "if that lasts"
    return f" ({', '.join(counts)}; {condition}: {CAPACITY_RUNBOOK})"
