"""A stack in UPDATE_ROLLBACK_FAILED, and the commands that make it work again.

CloudFormation does not update such a stack, and the cdk CLI takes it for deployed if its template
is the new one already. ContinueUpdateRollback retries the resources that failed in the rollback, or
skips them, and no others (CloudFormation API reference, ContinueUpdateRollback).
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from release.delivery.stack_failures import FailedResource, failed_in_rollback
from release.delivery.under_way import description_of
from release.stage_resources import StackEndpoint

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_sagemaker import SageMakerClient

OF_THE_ENDPOINT = (
    "AWS::SageMaker::Endpoint",
    "Custom::TritonUpdateGuard",
    "Custom::TritonUpdateCheck",
)
"""Types that need no repair after they were skipped, if the endpoint is back by then."""

RUNBOOK = 'docs/runbook.md, "CloudFormation could not roll an update back"'


@dataclass(frozen=True)
class MovedEndpoint:
    """An endpoint that serves with another configuration than the stack is rolled back to."""

    name: str
    config_arn: str

    def commands(self) -> Iterator[str]:
        """Yield the commands that bring it back. ARNs have the configuration's name in lower case,
        so that the name is looked up."""
        yield (
            'CONFIG=$(aws sagemaker list-endpoint-configs --query "EndpointConfigs['
            f"?EndpointConfigArn=='{self.config_arn}'].EndpointConfigName\" --output text)"
        )
        yield (
            f"aws sagemaker update-endpoint --endpoint-name {self.name} "
            "--endpoint-config-name $CONFIG --retain-all-variant-properties"
        )
        yield f"aws sagemaker wait endpoint-in-service --endpoint-name {self.name}"


@dataclass(frozen=True)
class StuckRollback:
    """A stack in UPDATE_ROLLBACK_FAILED, the resources that failed, and its endpoint if that moved.

    As text: what happened, and what to run.
    """

    stack: str
    failed: Sequence[FailedResource]
    moved: MovedEndpoint | None

    def __str__(self) -> str:
        return "\n  ".join(self._lines())

    def commands(self) -> Iterator[str]:
        """Yield the commands that continue the rollback once the cause is removed."""
        if self.moved:
            yield from self.moved.commands()
        yield self._continue
        yield self._wait

    def commands_that_skip(self) -> Iterator[str]:
        """Yield the commands for a rollback that fails again."""
        yield f"{self._continue} --resources-to-skip {_names(self.failed)}"
        yield self._wait

    @property
    def _continue(self) -> str:
        return f"aws cloudformation continue-update-rollback --stack-name {self.stack}"

    @property
    def _wait(self) -> str:
        return f"aws cloudformation wait stack-rollback-complete --stack-name {self.stack}"

    def _lines(self) -> Iterator[str]:
        yield (
            f"{self.stack} is UPDATE_ROLLBACK_FAILED: CloudFormation could not roll back an "
            "update, and changes nothing in this stack until the rollback is continued"
        )
        yield from (f"{it.name} failed: {it.reason}" for it in self.failed)
        yield "Remove the cause, then run:"
        yield from (f"  {command}" for command in self.commands())
        if self.failed:
            yield "If it fails again although the endpoint serves the stack's configuration:"
            yield from (f"  {command}" for command in self.commands_that_skip())
        if others := [it for it in self.failed if it.type not in OF_THE_ENDPOINT]:
            yield (
                f"  and restore {_names(others)}, which CloudFormation then takes for rolled back: "
                f"aws cloudformation detect-stack-drift --stack-name {self.stack}"
            )
        yield f"Then deliver again. See {RUNBOOK}"


def stuck_rollback(
    cloudformation: "CloudFormationClient",
    sagemaker: "SageMakerClient",
    stack: str,
    endpoint: StackEndpoint | None,
) -> StuckRollback:
    """Return what is known of a stack in UPDATE_ROLLBACK_FAILED, and of the endpoint in it."""
    moved = _moved(cloudformation, sagemaker, endpoint) if endpoint else None
    return StuckRollback(stack, failed_in_rollback(cloudformation, stack), moved)


def _moved(
    cloudformation: "CloudFormationClient", sagemaker: "SageMakerClient", endpoint: StackEndpoint
) -> MovedEndpoint | None:
    resource = cloudformation.describe_stack_resource(
        StackName=endpoint.stack, LogicalResourceId=endpoint.config
    )["StackResourceDetail"]
    config_arn = resource.get("PhysicalResourceId", "")
    description = description_of(sagemaker, endpoint.name)
    if description is None:
        return None
    if description["EndpointConfigName"].lower() == config_arn.rpartition("/")[2].lower():
        return None
    return MovedEndpoint(endpoint.name, config_arn)


def _names(resources: Sequence[FailedResource]) -> str:
    return " ".join(it.name for it in resources)
