"""A run: the endpoint that its steps deploy, invoke and describe."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property

from botocore.exceptions import BotoCoreError, ClientError

from account_test.answers import AnswerRecorder, Record, kept
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
"""Between two rounds of what is called during a deploy: our choice."""


class StepFailed(Exception):
    """A step could not be done, and this is why."""


@dataclass(frozen=True)
class Run:
    """State that the steps share."""

    recorder: AnswerRecorder
    checkout: Checkout
    account: Account

    @property
    def pseudo_parameters(self) -> dict[str, str]:
        """What CloudFormation knows of every stack of the account in this region."""
        caller = self.account.caller
        return {
            "AWS::AccountId": caller.account,
            "AWS::Region": self.account.region,
            "AWS::Partition": caller.arn.split(":")[1],
        }

    @cached_property
    def models(self) -> EndpointClient:
        """A client of the stage's models, which asks the catalog each time."""
        session = self.recorder.session
        return EndpointClient(stage=STAGE, endpoint=ENDPOINT, catalog_ttl=0, session=session)

    def deploy(self) -> bool:
        """Deploy what the checkout has; return whether that succeeded. Raises `NotSynthesised`."""
        since = datetime.now(UTC)
        self.checkout.synthesise()
        result = cdk.deploy(self.checkout.assembly, MODELS_STACK, ENDPOINT_STACK)
        budget = DeliveryTimeBudget.read(self.checkout.assembly)
        self.recorder.keep("app:TimeBudget", {}, dict(budget.rows))
        for stack in (MODELS_STACK, ENDPOINT_STACK):
            try:
                self._keep_stack(stack, since)
            except ClientError as error:
                say(f"  {error}")
        return result.succeeded

    def describe(self) -> Record:
        """Return the endpoint's description."""
        return self.recorder.ask("sagemaker:DescribeEndpoint", EndpointName=ENDPOINT_NAME)

    def serving(self) -> Record:
        """Return the configuration that serves, as soon as the endpoint does not change."""

        def changing() -> str | None:
            status: str = self.describe()["EndpointStatus"]
            return None if status in IDLE_STATUSES else status

        wait(ENDPOINT_NAME, changing)
        name = self.describe()["EndpointConfigName"]
        return self.recorder.ask("sagemaker:DescribeEndpointConfig", EndpointConfigName=name)

    def invoke(self, number: float) -> None:
        """Invoke the model as an application does."""
        request, error = {"Model": MODEL, "X": number}, None
        answer: Record = {}
        try:
            outputs = self.models.invoke(MODEL, {"X": [[number]]})
            answer = {"Y": float(outputs["Y"][0][0])}
        except EndpointError as refusal:
            error = {"Code": type(refusal).__name__, "Message": str(refusal)}
        self.recorder.keep("sagemaker-runtime:InvokeEndpoint", request, answer, error)

    @contextmanager
    def meanwhile(self, *calls: Callable[[], object]) -> Iterator[None]:
        """Make calls again and again on a thread of their own, for the length of the block."""
        stop = threading.Event()

        def loop() -> None:
            while not stop.wait(PAUSE_SECONDS):
                for call in calls:
                    try:
                        call()
                    except (BotoCoreError, ClientError, EndpointError):
                        continue  # kept already; it is called again

        thread = threading.Thread(target=loop, daemon=True)
        thread.start()
        try:
            yield
        finally:
            stop.set()
            thread.join()

    def _keep_stack(self, stack: str, since: datetime) -> None:
        """Keep a stack's status and events; go on with a rollback that failed.

        That is done without the endpoint, which serves, as docs/aws.md says: further steps deploy.
        """
        cloudformation, recorder = self.recorder.client("cloudformation"), self.recorder
        wait_for_stack(cloudformation, stack)
        (described,) = recorder.ask("cloudformation:DescribeStacks", StackName=stack)["Stacks"]
        events = recorder.pages("cloudformation", "DescribeStackEvents", StackName=stack)
        recent = [event for event in events["StackEvents"] if event["Timestamp"] >= since]
        answer = kept("DescribeStackEvents", {"StackEvents": recent})
        recorder.keep("cloudformation:DescribeStackEvents", {"StackName": stack}, answer)
        if described["StackStatus"] == "UPDATE_ROLLBACK_FAILED":
            endpoints = [name for _, name, _ in self.account.resources("AWS::SageMaker::Endpoint")]
            say(f"  {stack} is UPDATE_ROLLBACK_FAILED: continuing without {endpoints}")
            cloudformation.continue_update_rollback(StackName=stack, ResourcesToSkip=endpoints)
            wait_for_stack(cloudformation, stack)
