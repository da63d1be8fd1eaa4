"""An AWS account in this process: ministack's CloudFormation and the local SageMaker's services.

No work runs in threads: background work of the local SageMaker runs immediately, so that the caller
can invoke models after every step. Only scaling continues: each update of a scaled endpoint starts
it, and it ends when a Lambda function waits for it.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import botocore.session
import pytest
from ministack.services import cloudformation as ministack
from ministack.services import cloudwatch, dynamodb, iam
from ministack.services.cloudformation import handlers, helpers, provisioners, stacks

from local_sagemaker import cloudformation
from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling import cloudformation as autoscaling_types
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.cloudformation import ResourceType
from local_sagemaker.cloudwatch import expressions
from local_sagemaker.dashboard_events import ignore_event
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting import fleet as fleet_module
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.quotas import AccountQuotas
from local_sagemaker.sagemaker import cloudformation as sagemaker_types
from local_sagemaker.sagemaker import endpoint as endpoint_module
from local_sagemaker.sagemaker import update as update_module
from local_sagemaker.sagemaker.component_operations import HostingOperations
from local_sagemaker.tests.sagemaker.conftest import FakeClock
from plan.catalog import listed
from platform_facts.rules.catalog import entry_text
from tests.catalog_items import create_table, memory_dynamodb
from tests.transitions.caller import Caller, FakeRandom
from tests.transitions.faults import Fault, FaultKind
from tests.transitions.functions import S3, CodeBuild, CustomResource, NoInterfaces, Service, load
from tests.transitions.instances import start_component_server, start_server
from tests.transitions.templates import ENDPOINT, STAGE, Template

STACK = NAME = f"{STAGE}-{ENDPOINT}"
CLOUDWATCH: Any = Mock()
"""A CloudWatch for the alarms of scaling policies, which are not evaluated."""
COUNT_SUM = 6
"""Scaling changes 2 instances to 4, and 4 to 2: the current and the desired count have this sum."""
LAST_RESOURCE = "LastOfAll"
"""Logical id of a resource that fails after all other resources."""

Record = dict[str, Any]


class Account:
    """The account of one stack; only one account exists at a time, inside `account_factory`."""

    def __init__(self, fake_random: FakeRandom, assets: Path) -> None:
        self.s3 = S3(assets)
        self.dynamodb = memory_dynamodb()
        create_table(self.dynamodb, STAGE)
        self._catalog: dict[str, str] | None = None
        self.dynamodb.meta.events.register("after-call.dynamodb", self._forget_catalog)
        self.s3.objects["models", "placeholder"] = b""
        self.fault = Fault()
        self._min_counts: dict[str, int] = {}
        self._is_updated = False
        self._clock = FakeClock()
        self._clock.on_sleep = lambda _: self._bake()
        self.hosting = HostingOperations(
            SimpleNamespace(  # type: ignore[arg-type]
                capacities=Capacities(), max_processes=2, s3=self.s3, report_event=ignore_event
            ),
            fleet=Fleet,
            clock=lambda: self._clock,
            alarms=lambda names: {name: _alarms()[name] for name in names if name in _alarms()},
            is_assumable=lambda _: True,
            quota_value=AccountQuotas().value,
            scalable_variants=lambda endpoint: self.scaling.scalable_variants(endpoint),
            deregister=lambda endpoint: self.scaling.deregister_endpoint(endpoint),
        )
        self.scaling: AutoScaling = AutoScaling(self.hosting, CLOUDWATCH, speed=1)
        self._scaling_operations: list[Callable[[], None]] = []
        self.caller = Caller(self.hosting, fake_random, self.catalog)

    # State

    @property
    def status(self) -> str:
        """The stack's status."""
        return str(ministack._stacks[STACK]["StackStatus"])

    @property
    def reason(self) -> str:
        """The reason of the last failed deployment."""
        return next(self._failures(), "")

    @property
    def last_reason(self) -> str:
        """The reason of the failed rollback."""
        return [failure for failure in self._failures() if "is kept because" not in failure][-1]

    def _failures(self) -> Iterator[str]:
        """Yield the reasons of resources that failed in the last deployment."""
        events = ministack._stack_events[ministack._stacks[STACK]["StackId"]]
        reasons = [event["ResourceStatusReason"] for event in reversed(events)]
        for event in events[-reasons.index("User Initiated") :]:
            if event["ResourceStatus"].endswith("_FAILED") and event["LogicalResourceId"] != STACK:
                yield str(event["ResourceStatusReason"])

    def resources(self) -> dict[str, Record]:
        """Return the stack's resources in CloudFormation."""
        return dict(ministack._stacks[STACK]["_resources"])

    def endpoint(self) -> Record:
        """Return the description of the endpoint that was created last."""
        name = [*self.hosting.endpoints_by_name][-1]
        return self.hosting.describe_endpoint({"EndpointName": name})

    def components(self) -> dict[str, Record]:
        """Return name -> description of the inference components."""
        return {
            name: self.hosting.describe_inference_component({"InferenceComponentName": name})
            for name in self.hosting.components
        }

    def catalog(self) -> dict[str, str]:
        """Return model -> catalog entry."""
        if self._catalog is None:
            revisions = listed(self.dynamodb, STAGE, ENDPOINT)
            self._catalog = {revision.model: entry_text(revision.entry) for revision in revisions}
        return self._catalog

    def _forget_catalog(self, model: Any, **_: Any) -> None:
        """Read the catalog again after an operation that may have changed it."""
        if model.name not in ("BatchGetItem", "Query", "Scan"):
            self._catalog = None

    def sagemaker_names(self) -> set[str]:
        """Return the names of all models and configurations."""
        models = self.hosting.list_models({"MaxResults": 100})["Models"]
        configs = self.hosting.list_endpoint_configs({"MaxResults": 100})["EndpointConfigs"]
        return {model["ModelName"] for model in models} | {
            config["EndpointConfigName"] for config in configs
        }

    # Operations

    def deploy(self, template: Template, fault: FaultKind = FaultKind.NONE) -> None:
        """Create or update the stack, and wait for CloudFormation."""
        self.fault, self.caller.failed_calls = Fault(fault), []
        self._min_counts = _min_counts(template)
        if fault & FaultKind.AFTER_ALL:
            last = {"Type": "Custom::Last", "DependsOn": [*template["Resources"]]}
            template = {**template, "Resources": {**template["Resources"], LAST_RESOURCE: last}}
        exists = STACK in ministack._stacks
        operation = handlers._update_stack if exists else handlers._create_stack
        asyncio.run(_call_cloudformation(operation, TemplateBody=json.dumps(template)))
        self.end_scaling()
        _set_alarms("OK")

    def continue_rollback(self) -> None:
        """Continue a failed rollback, without a fault."""
        self.fault = Fault()
        asyncio.run(_call_cloudformation(handlers._continue_update_rollback))
        self.end_scaling()

    def delete(self) -> None:
        """Delete the stack."""
        self.fault, self.caller.failed_calls = Fault(), []
        asyncio.run(_call_cloudformation(handlers._delete_stack))

    # Events during a deployment

    def start(self) -> None:
        """Handle the start of an instance."""
        self.caller.invoke_all("while instances start")
        if self.fault.happens_now(
            FaultKind.START_IN_ROLLBACK if self._rolls_back() else FaultKind.START
        ):
            raise LocalSageMakerError("the container did not pass the ping health check")

    def _bake(self) -> None:
        if self.fault.happens_now(
            FaultKind.ALARM_IN_ROLLBACK if self._rolls_back() else FaultKind.ALARM
        ):
            _set_alarms("ALARM")
        self.caller.invoke_all("during the baking period")

    def update_endpoint(self, request: Record) -> Record:
        """Handle UpdateEndpoint."""
        self._is_updated = True
        return self.hosting.update_endpoint(request)

    def after_endpoint(self) -> None:
        """Start the scaling that waited for the update of the endpoint.

        RegisterScalableTarget handles a variant below its new minimum.
        """
        for variant in self.endpoint()["ProductionVariants"] if self._is_updated else ():
            name, count = variant["VariantName"], variant["DesiredInstanceCount"]
            is_below_minimum = count < self._min_counts.get(name, 0)
            if (
                name in self.scaling.scalable_variants(NAME)
                and not is_below_minimum
                and not self._scaling_operations
            ):
                desired = {"VariantName": name, "DesiredInstanceCount": COUNT_SUM - count}
                self.hosting.update_endpoint_weights_and_capacities(
                    {"EndpointName": NAME, "DesiredWeightsAndCapacities": [desired]}
                )
        self._is_updated = False

    def in_background(self, function: Callable[..., None], *arguments: Any) -> None:
        """Run background work of SageMaker at once, and scaling later."""
        if function.__name__ == "_finish_scaling":
            self._scaling_operations.append(partial(function, *arguments))
        else:
            function(*arguments)

    def end_scaling(self) -> None:
        """Run the scaling to its end."""
        while self._scaling_operations:
            self._scaling_operations.pop()()

    def before_operation(self, resource_type: str) -> None:
        """Handle the start of CloudFormation's work on a resource."""
        if resource_type == "Custom::Last" and not self._rolls_back():
            self.fault.happens_now(FaultKind.AFTER_ALL)
            raise LocalSageMakerError("fault of this test")

    def _rolls_back(self) -> bool:
        return "ROLLBACK" in self.status


@contextmanager
def account_factory(assets: Path) -> Iterator[Callable[[], Account]]:
    """Provide a function that makes an empty account and removes the previous one.

    `assets` is the folder of the cloud assembly, with the lists of models.
    """
    accounts: list[Account] = []
    with pytest.MonkeyPatch.context() as patch:
        fake_random = FakeRandom()
        patch.setenv("PROJECT", "builder")
        session = botocore.session.get_session()  # it caches service models
        patch.setattr(botocore.session, "get_session", lambda: session)
        for module in (endpoint_module, fleet_module):
            patch.setattr(module, "random", fake_random)
        patch.setattr(
            fleet_module, "start_server", lambda *arguments: _start_server(accounts[-1], *arguments)
        )
        # Servers never end here, so the thread that watches a server is not needed.
        patch.setattr(Instance, "wait_until_healthy", Instance._become_healthy)
        patch.setattr(
            HostingOperations, "_in_background", lambda _, *work: accounts[-1].in_background(*work)
        )
        for table in ("_RESOURCE_HANDLERS", "_REPLACING_PROPERTIES"):
            patch.setattr(provisioners, table, dict(getattr(provisioners, table)))
        for module, name in (
            (cloudwatch, "_put_metric_alarm"),
            (provisioners, "_cw_metric_alarm_record"),
        ):
            patch.setattr(module, name, getattr(module, name))
        expressions.patch(cloudwatch, provisioners)
        for name in ("_provision_resource", "_update_resource", "_delete_resource"):
            patch.setattr(stacks, name, _with_calls(getattr(stacks, name), accounts))

        delete_resource = stacks._delete_resource
        patch.setattr(update_module, "POLL_SECONDS", math.inf)  # no changes between polls
        # The limit is for templates in a request; the CDK deploys templates from a bucket.
        patch.setattr(helpers, "TEMPLATE_BODY_MAX_BYTES", 1 << 20)

        def make_account() -> Account:
            _stop(accounts)
            accounts.append(Account(fake_random, assets))
            patch.setattr(stacks, "_delete_resource", delete_resource)
            cloudformation.register(_resource_types(accounts[-1]))
            patch.setattr(stacks, "_runs_on_worker_thread", lambda _: False)
            return accounts[-1]

        try:
            yield make_account
        finally:
            _stop(accounts)


def _min_counts(template: Template) -> dict[str, int]:
    """Return the MinCapacity of each variant that is scaled."""
    targets = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget"
    ]
    return {target["ResourceId"].rpartition("/")[2]: target["MinCapacity"] for target in targets}


def _stop(accounts: list[Account]) -> None:
    for account in accounts:
        account.hosting.stop()
    accounts.clear()
    for service in (ministack, dynamodb, cloudwatch, iam):
        service.reset()


def _resource_types(account: Account) -> dict[str, ResourceType]:
    changed = SimpleNamespace(update_endpoint=account.update_endpoint)
    sagemaker = JsonService("sagemaker", changed, account.hosting, account.hosting.tags)
    clients = {
        "sagemaker": Service(sagemaker),
        "application-autoscaling": Service(account.scaling.service),
        "cloudformation": SimpleNamespace(
            describe_stacks=lambda **_: {"Stacks": [{"StackStatus": account.status}]}
        ),
        "codebuild": CodeBuild(account.s3, lambda: account.fault.happens_now(FaultKind.BUILD)),
        "ec2": NoInterfaces(),
        "s3": account.s3,
        "dynamodb": account.dynamodb,
    }
    builder, updates, catalog = (
        load(name, lambda service, **_: clients[service])
        for name in ("build_handler", "update_handler", "catalog_handler")
    )
    functions = {
        "Custom::TritonCatalog": catalog,
        "Custom::TritonModels": builder,
        "Custom::TritonUpdateGuard": updates,
        "Custom::TritonUpdateCheck": updates,
    }
    return {
        **sagemaker_types.resource_types(sagemaker),
        **autoscaling_types.resource_types(account.scaling.service),
        **{
            resource_type: CustomResource(resource_type, STACK, function, account.end_scaling)
            for resource_type, function in functions.items()
        },
    }


def _with_calls(operation: Callable[..., Any], accounts: list[Account]) -> Callable[..., Any]:
    """Return an operation of CloudFormation after which the caller invokes all models."""

    def run(resource_type: str, name: str, *arguments: Any) -> Any:
        accounts[-1].before_operation(resource_type)
        try:
            result = operation(resource_type, name, *arguments)
            if resource_type == "AWS::SageMaker::Endpoint":
                accounts[-1].after_endpoint()
            return result
        finally:
            verb = operation.__name__.split("_")[1]
            accounts[-1].caller.invoke_all(f"after {verb} of {resource_type}")

    return run


def _start_server(
    account: Account, host: Any, endpoint: str, variant: Record, model: Record | None, slot: Any
) -> Any:
    if model is None:
        return start_component_server(variant)
    return start_server(account.s3, account.start, model)


def _alarms() -> dict[str, str]:
    return {name: alarm["StateValue"] for name, alarm in cloudwatch._alarms.items()}


def _set_alarms(state: str) -> None:
    for alarm in cloudwatch._alarms.values():
        alarm["StateValue"] = state


async def _call_cloudformation(operation: Callable[[Record], Any], **parameters: str) -> None:
    """Call CloudFormation, and wait for the operation."""
    values = {name: [value] for name, value in parameters.items()}
    capabilities = {"Capabilities.member.1": ["CAPABILITY_IAM"]}
    status, _, body = operation({"StackName": [STACK], **capabilities, **values})
    assert status == 200, body
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
