"""State and operations that the steps share."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from botocore.exceptions import BotoCoreError, ClientError

from account_test.answers import AnswerRecorder, Record, select_members
from account_test.checkout import Checkout
from account_test.names import ENDPOINT, ENDPOINT_NAME, ENDPOINT_STACK, MODEL, MODELS_STACK, STAGE
from account_test.waiting import wait, wait_for_stack
from endpoint_client import EndpointClient, EndpointError
from release.delivery import cdk
from release.delivery.endpoint_state import IDLE_STATUSES
from release.delivery.steps import say
from release.delivery.time_budget import DeliveryTimeBudget
from release.preflight.account import Account

PAUSE_SECONDS = 1.0
"""Pause between background calls during a deployment. Our choice."""


class StepFailed(Exception):
    """A step failed; the message is the reason."""


@dataclass(frozen=True)
class Run:
    """Recorder, checkout and account of a run, with operations on the endpoint."""

    recorder: AnswerRecorder
    checkout: Checkout
    account: Account

    @property
    def pseudo_parameters(self) -> dict[str, str]:
        """The CloudFormation pseudo parameters of the stacks."""
        caller = self.account.caller
        return {
            "AWS::AccountId": caller.account,
            "AWS::Region": self.account.region,
            "AWS::Partition": caller.arn.split(":")[1],
        }

    @cached_property
    def models(self) -> EndpointClient:
        """A client of the stage's models, without a catalog cache."""
        session = self.recorder.session
        return EndpointClient(stage=STAGE, endpoint=ENDPOINT, catalog_ttl=0, session=session)

    def deploy(self) -> bool:
        """Deploy the checkout; return whether it succeeded. Raise `NotSynthesised`."""
        since = datetime.now(UTC)
        self.checkout.synthesise()
        result = cdk.deploy(self.checkout.assembly, MODELS_STACK, ENDPOINT_STACK)
        budget = DeliveryTimeBudget.read(self.checkout.assembly)
        self.recorder.record("app:TimeBudget", {}, dict(budget.rows))
        for stack in (MODELS_STACK, ENDPOINT_STACK):
            try:
                self._record_stack(stack, since)
            except ClientError as error:
                say(f"  {error}")
        return result.succeeded

    def describe(self) -> Record:
        """Return the endpoint's description."""
        return self.recorder.call("sagemaker:DescribeEndpoint", EndpointName=ENDPOINT_NAME)

    def wait_until_idle(self) -> Record:
        """Wait for operations in progress, and return the current endpoint configuration."""

        def transient_status() -> str | None:
            status: str = self.describe()["EndpointStatus"]
            return None if status in IDLE_STATUSES else status

        wait(ENDPOINT_NAME, transient_status)
        name = self.describe()["EndpointConfigName"]
        return self.recorder.call("sagemaker:DescribeEndpointConfig", EndpointConfigName=name)

    def invoke(self, number: float) -> None:
        """Invoke the model with `endpoint_client`, and record the response."""
        response: Record = {}
        error_response = None
        try:
            outputs = self.models.invoke(MODEL, {"X": [[number]]})
            response = {"Y": float(outputs["Y"][0][0])}
        except EndpointError as error:
            error_response = {"Code": type(error).__name__, "Message": str(error)}
        request = {"Model": MODEL, "X": number}
        self.recorder.record("sagemaker-runtime:InvokeEndpoint", request, response, error_response)

    @contextmanager
    def repeating_calls(self, *calls: Callable[[], object]) -> Iterator[None]:
        """Repeat calls in a background thread while the block runs."""
        stop = threading.Event()

        def loop() -> None:
            while not stop.wait(PAUSE_SECONDS):
                for call in calls:
                    try:
                        call()
                    except (BotoCoreError, ClientError, EndpointError):
                        continue  # already recorded; the call is repeated

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _record_stack(self, stack: str, since: datetime) -> None:
        """Record a stack's status and events; continue a failed rollback.

        The rollback skips the endpoint, which still serves (docs/aws.md), so that later steps can
        deploy.
        """
        cloudformation, recorder = self.recorder.client("cloudformation"), self.recorder
        wait_for_stack(cloudformation, stack)
        (description,) = recorder.call("cloudformation:DescribeStacks", StackName=stack)["Stacks"]
        events = recorder.pages("cloudformation", "DescribeStackEvents", StackName=stack)
        recent = [event for event in events["StackEvents"] if event["Timestamp"] >= since]
        answer = select_members("DescribeStackEvents", {"StackEvents": recent})
        recorder.record("cloudformation:DescribeStackEvents", {"StackName": stack}, answer)
        if description["StackStatus"] == "UPDATE_ROLLBACK_FAILED":
            endpoints = [name for _, name, _ in self.account.resources("AWS::SageMaker::Endpoint")]
            say(f"  {stack} is UPDATE_ROLLBACK_FAILED: continuing without {endpoints}")
            cloudformation.continue_update_rollback(StackName=stack, ResourcesToSkip=endpoints)
            wait_for_stack(cloudformation, stack)
