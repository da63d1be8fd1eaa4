"""An account in this process: ministack's CloudFormation and the local SageMaker's services.

Nothing waits and nothing runs beside anything else: what the local SageMaker does on threads is
done at once, so that the caller can ask after every step. But for scaling: every update of an
endpoint that is scaled ends with it, and it goes on until something waits for it.
"""

import asyncio
import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import botocore.session
import pytest
from ministack.services import cloudformation as ministack
from ministack.services import cloudwatch, iam, ssm
from ministack.services.cloudformation import handlers, helpers, provisioners, stacks

from local_sagemaker import cloudformation
from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling import cloudformation as autoscaling_types
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.cloudformation import ResourceType
from local_sagemaker.cloudwatch import expressions
from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.happenings import untold
from local_sagemaker.hosting import fleet as fleet_module
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.instance import Instance
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.quotas.account import AccountQuotas
from local_sagemaker.sagemaker import cloudformation as sagemaker_types
from local_sagemaker.sagemaker import endpoint as endpoint_module
from local_sagemaker.sagemaker import update as update_module
from local_sagemaker.sagemaker.components import Components
from local_sagemaker.sagemaker.service import control_plane
from local_sagemaker.tests.sagemaker.conftest import FakeClock
from tests.transitions.caller import Caller, Dice
from tests.transitions.faults import Fault, What
from tests.transitions.functions import (
    S3,
    CodeBuild,
    CustomResource,
    NoInterfaces,
    Parameters,
    Service,
    load,
)
from tests.transitions.instances import begin, begin_empty
from tests.transitions.templates import ENDPOINT, STAGE, Template

STACK = NAME = f"{STAGE}-{ENDPOINT}"
CATALOG = f"/triton/{STAGE}/{ENDPOINT}"
CLOUDWATCH: Any = Mock()
"""Takes the alarms of policies, which nobody evaluates here."""
SOME_MORE = 6
"""Between 2 and 4 instances, scaling asks for this many less those that there are."""
LAST = "LastOfAll"
"""The resource that fails after all others."""

Record = dict[str, Any]


class Account:
    """What one stack is deployed to; one at a time, inside `accounts`."""

    def __init__(self, dice: Dice) -> None:
        self.s3 = S3()
        self.s3.objects["models", "here"] = b""
        self.fault = Fault()
        self._smallest: dict[str, int] = {}
        self._is_updated = False
        self._clock = FakeClock()
        self._clock.on_sleep = lambda _: self._bake()
        self.hosting = Components(
            SimpleNamespace(  # type: ignore[arg-type]
                capacities=Capacities(),
                instances=2,
                s3=self.s3,
                tell=untold,
            ),
            fleet=Fleet,
            clock=lambda: self._clock,
            alarms=lambda names: {name: _alarms()[name] for name in names if name in _alarms()},
            assumable=lambda _: True,
            quota=AccountQuotas().value,
            scaled_variants=lambda endpoint: self.scaling.variants(endpoint),
            deregister=lambda endpoint: self.scaling.forget(endpoint),
        )
        self.scaling: AutoScaling = AutoScaling(self.hosting, CLOUDWATCH, speed=1)
        self._scaled: list[Callable[[], None]] = []
        self.caller = Caller(self.hosting, dice, self.catalog)

    # What there is

    @property
    def status(self) -> str:
        """The stack's status."""
        return str(ministack._stacks[STACK]["StackStatus"])

    @property
    def reason(self) -> str:
        """Why the last deployment failed."""
        return next(self._failures(), "")

    @property
    def last_reason(self) -> str:
        """Why its rollback failed."""
        return [failure for failure in self._failures() if failure.find("it is kept") < 0][-1]

    def _failures(self) -> Iterator[str]:
        """What CloudFormation's events say of resources that failed since it was begun."""
        events = ministack._stack_events[ministack._stacks[STACK]["StackId"]]
        begun = [each["ResourceStatusReason"] for each in reversed(events)].index("User Initiated")
        for event in events[-begun:]:
            if event["ResourceStatus"].endswith("_FAILED") and event["LogicalResourceId"] != STACK:
                yield str(event["ResourceStatusReason"])

    def resources(self) -> dict[str, Record]:
        """The stack's resources, as CloudFormation has them."""
        return dict(ministack._stacks[STACK]["_resources"])

    def endpoint(self) -> Record:
        """What DescribeEndpoint answers, of the endpoint that was created last."""
        return self.hosting.describe_endpoint({"EndpointName": [*self.hosting.by_name][-1]})

    def components(self) -> dict[str, Record]:
        """What DescribeInferenceComponent answers, by the components' names."""
        return {
            name: self.hosting.describe_inference_component({"InferenceComponentName": name})
            for name in self.hosting.components
        }

    def catalog(self) -> dict[str, str]:
        """The entries of the catalog, by model."""
        return {
            name.rpartition("/")[2]: each["Value"]
            for name, each in ssm._parameters.items()
            if name.startswith(f"{CATALOG}/")
        }

    def hosted(self) -> set[str]:
        """The names of all models and configurations that exist."""
        models = self.hosting.list_models({"MaxResults": 100})["Models"]
        configs = self.hosting.list_endpoint_configs({"MaxResults": 100})["EndpointConfigs"]
        return {model["ModelName"] for model in models} | {
            config["EndpointConfigName"] for config in configs
        }

    # What is done

    def deploy(self, template: Template, fault: What = What.NOTHING) -> None:
        """Create or update the stack, and return when CloudFormation is done with it."""
        self.fault, self.caller.failed = Fault(fault), []
        self._smallest = _smallest_counts(template)
        if fault & What.AFTER_ALL:
            last = {"Type": "Custom::Last", "DependsOn": [*template["Resources"]]}
            template = {**template, "Resources": {**template["Resources"], LAST: last}}
        known = STACK in ministack._stacks
        act = handlers._update_stack if known else handlers._create_stack
        asyncio.run(_done(act, TemplateBody=json.dumps(template)))
        self.end_scaling()
        _set_alarms("OK")

    def continue_rollback(self) -> None:
        """Have CloudFormation continue a rollback that failed, when nothing is wrong any more."""
        self.fault = Fault()
        asyncio.run(_done(handlers._continue_update_rollback))
        self.end_scaling()

    def delete(self) -> None:
        """Delete the stack."""
        self.fault, self.caller.failed = Fault(), []
        asyncio.run(_done(handlers._delete_stack))

    # What happens meanwhile

    def start(self) -> None:
        """An instance is to become healthy."""
        self.caller.ask("while instances start")
        if self.fault.strikes(What.START_IN_ROLLBACK if self._rolls_back() else What.START):
            raise LocalSageMakerError("the container did not pass the ping health check")

    def _bake(self) -> None:
        if self.fault.strikes(What.ALARM_IN_ROLLBACK if self._rolls_back() else What.ALARM):
            _set_alarms("ALARM")
        self.caller.ask("while it bakes")

    def update_endpoint(self, request: Record) -> Record:
        """UpdateEndpoint."""
        self._is_updated = True
        return self.hosting.update_endpoint(request)

    def after_endpoint(self) -> None:
        """CloudFormation is done with the endpoint: scaling begins that has waited for its update.

        A variant below its new minimum is left to RegisterScalableTarget.
        """
        for variant in self.endpoint()["ProductionVariants"] if self._is_updated else ():
            name, count = variant["VariantName"], variant["DesiredInstanceCount"]
            is_left = count < self._smallest.get(name, 0)
            if name in self.scaling.variants(NAME) and not is_left and not self._scaled:
                desired = {"VariantName": name, "DesiredInstanceCount": SOME_MORE - count}
                self.hosting.update_endpoint_weights_and_capacities(
                    {"EndpointName": NAME, "DesiredWeightsAndCapacities": [desired]}
                )
        self._is_updated = False

    def in_background(self, act: Callable[..., None], *arguments: Any) -> None:
        """Do at once what SageMaker does meanwhile, but scale later."""
        if act.__name__ == "_reach_desired":
            self._scaled.append(partial(act, *arguments))
        else:
            act(*arguments)

    def end_scaling(self) -> None:
        """Let the time pass that scaling takes."""
        while self._scaled:
            self._scaled.pop()()

    def before(self, kind: str) -> None:
        """CloudFormation begins with a resource."""
        if kind == "Custom::Last" and not self._rolls_back():
            self.fault.strikes(What.AFTER_ALL)
            raise LocalSageMakerError("it fails in this test")

    def _rolls_back(self) -> bool:
        return "ROLLBACK" in self.status


@contextmanager
def accounts() -> Iterator[Callable[[], Account]]:
    """Give what makes an empty account, in which nothing of the one before is left."""
    made: list[Account] = []
    with pytest.MonkeyPatch.context() as patch:
        dice = Dice()
        patch.setenv("PROJECT", "builder")
        session = botocore.session.get_session()  # it keeps the services' models
        patch.setattr(botocore.session, "get_session", lambda: session)
        for module in (endpoint_module, fleet_module):
            patch.setattr(module, "random", dice)
        patch.setattr(fleet_module, "begin", lambda *arguments: _begin(made[-1], *arguments))
        # Nothing ends a server here, which an instance else watches on a thread.
        patch.setattr(Instance, "wait_until_healthy", Instance._become_healthy)
        patch.setattr(Components, "_in_background", lambda _, *act: made[-1].in_background(*act))
        for table in ("_RESOURCE_HANDLERS", "_REPLACING_PROPERTIES"):
            patch.setattr(provisioners, table, dict(getattr(provisioners, table)))
        for module, name in (
            (cloudwatch, "_put_metric_alarm"),
            (provisioners, "_cw_metric_alarm_record"),
        ):
            patch.setattr(module, name, getattr(module, name))
        expressions.install(cloudwatch, provisioners)
        for act in ("_provision_resource", "_update_resource", "_delete_resource"):
            patch.setattr(stacks, act, _watched(getattr(stacks, act), made))

        delete = stacks._delete_resource
        patch.setattr(update_module, "POLL_SECONDS", math.inf)  # nothing happens between two looks
        patch.setattr(helpers, "TEMPLATE_BODY_MAX_BYTES", 1 << 20)  # the CDK's come from a bucket

        def make() -> Account:
            _end(made)
            made.append(Account(dice))
            patch.setattr(stacks, "_delete_resource", delete)
            cloudformation.register(_resource_types(made[-1]))
            patch.setattr(stacks, "_runs_on_worker_thread", lambda _: False)
            return made[-1]

        try:
            yield make
        finally:
            _end(made)


def _smallest_counts(template: Template) -> dict[str, int]:
    """Return the MinCapacity of each variant that is scaled."""
    targets = [
        resource["Properties"]
        for resource in template["Resources"].values()
        if resource["Type"] == "AWS::ApplicationAutoScaling::ScalableTarget"
    ]
    return {target["ResourceId"].rpartition("/")[2]: target["MinCapacity"] for target in targets}


def _end(made: list[Account]) -> None:
    for account in made:
        account.hosting.stop()
    made.clear()
    for service in (ministack, ssm, cloudwatch, iam):
        service.reset()


def _resource_types(account: Account) -> dict[str, ResourceType]:
    hosting = {**control_plane(account.hosting)._operations}
    sagemaker = JsonService("sagemaker", {**hosting, "UpdateEndpoint": account.update_endpoint})
    clients = {
        "sagemaker": Service(sagemaker),
        "application-autoscaling": Service(account.scaling.service),
        "cloudformation": SimpleNamespace(
            describe_stacks=lambda **_: {"Stacks": [{"StackStatus": account.status}]}
        ),
        "codebuild": CodeBuild(account.s3, lambda: account.fault.strikes(What.BUILD)),
        "ec2": NoInterfaces(),
        "s3": account.s3,
        "ssm": Parameters(lambda _: list(account.catalog().values())),
    }
    builder, updates = (
        load(each, clients.__getitem__) for each in ("build_handler", "update_handler")
    )
    functions = {
        "Custom::TritonModel": builder,
        "Custom::TritonUpdateGuard": updates,
        "Custom::TritonUpdateCheck": updates,
    }
    return {
        **sagemaker_types.resource_types(sagemaker),
        **autoscaling_types.resource_types(account.scaling.service),
        **{
            kind: CustomResource(kind, STACK, each, account.end_scaling)
            for kind, each in functions.items()
        },
    }


def _watched(act: Callable[..., Any], made: list[Account]) -> Callable[..., Any]:
    def watched(kind: str, name: str, *arguments: Any) -> Any:
        made[-1].before(kind)
        try:
            result = act(kind, name, *arguments)
            if kind == "AWS::SageMaker::Endpoint":
                made[-1].after_endpoint()
            return result
        finally:
            made[-1].caller.ask(f"after {act.__name__.split('_')[1]} of {kind}")

    return watched


def _begin(
    account: Account, host: Any, endpoint: str, variant: Record, model: Record | None, slot: Any
) -> Any:
    if model is None:
        return begin_empty(variant)
    return begin(account.s3, account.start, model)


def _alarms() -> dict[str, str]:
    return {name: each["StateValue"] for name, each in cloudwatch._alarms.items()}


def _set_alarms(state: str) -> None:
    for alarm in cloudwatch._alarms.values():
        alarm["StateValue"] = state


async def _done(act: Callable[[Record], Any], **parameters: Any) -> None:
    """Ask CloudFormation, and return when what it began is done."""
    values = {name: each if isinstance(each, list) else [each] for name, each in parameters.items()}
    capabilities = {"Capabilities.member.1": ["CAPABILITY_IAM"]}
    status, _, body = act({"StackName": [STACK], **capabilities, **values})
    assert status == 200, body
    await asyncio.gather(*(asyncio.all_tasks() - {asyncio.current_task()}))
