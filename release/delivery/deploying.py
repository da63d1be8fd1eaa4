"""Deploy every stack of a stage; a stack whose scaled variant changes is deployed twice."""

from botocore.exceptions import BotoCoreError, ClientError

from release.delivery.deployment import StageDeployment
from release.delivery.errors import (
    DeliveredWrong,
    NotDelivered,
    Unfinished,
    may_be_updating,
    unfinished,
)
from release.delivery.scaled_variants import Unscaled, unscaled
from release.delivery.steps import say
from release.stack_template import stack_template
from release.tree import Template

FAILURES = (Unfinished, DeliveredWrong, BotoCoreError, ClientError)


def deploy(deployment: StageDeployment) -> None:
    """Deploy every stack, after operations in progress have ended.

    SageMaker changes the instance type only of a variant that is not registered for scaling: such a
    stack is deployed twice, first with its live template without that scaling. The new template
    without the scaling would not do, because CloudFormation deletes resources last.

    Raise `NotDelivered` with the reasons once the old scaling is restored, `DeliveredWrong` if it
    is not; `RollbackFailed` if CloudFormation could not roll a stack back; `Unfinished` if
    CloudFormation is still working or AWS does not answer.
    """
    deployment.wait_until_at_rest()
    stacks = tuple(deployment.assembly.templates)
    begun: list[Unscaled] = []
    try:
        with unfinished(may_be_updating(stacks)):
            for endpoint in deployment.assembly.endpoints:
                live, new = deployment.live(endpoint), deployment.new(endpoint)
                if live and (between := unscaled(endpoint, live, new)):
                    say(f"  {between}: the stack is deployed twice, first without scaling")
                    begun.append(between)
                    _deploy_template(deployment, between, between.without)
            deployment.deploy(*stacks)
    except NotDelivered as error:
        try:
            scaled = [_scale_again(deployment, between) for between in begun]
        except (*FAILURES, NotDelivered) as failure:
            raise _may_be_unscaled(begun, str(error), failure) from None
        raise NotDelivered("\n  ".join([str(error), *filter(None, scaled)])) from None
    except FAILURES as failure:
        if not begun:
            raise
        raise _may_be_unscaled(begun, failure) from None


def _scale_again(deployment: StageDeployment, between: Unscaled) -> str:
    """Restore the scaling of a stack that was rolled back to the template without it.

    Otherwise the stack has its new template, or its first deploy was rolled back.
    """
    stack = between.endpoint.stack
    with unfinished(may_be_updating([stack])):
        if stack_template(deployment.session.client("cloudformation"), stack) != between.without:
            return ""
        _deploy_template(deployment, between, between.live)
    return f"{between} scales again, as before"


def _may_be_unscaled(begun: list[Unscaled], *reasons: str | Exception) -> Exception:
    """Return an error of the last reason's type that names the variants without scaling."""
    left = (
        f"{between} may run without scaling, with the instances that it has, until the stage is "
        "delivered again"
        for between in begun
    )
    last = reasons[-1]
    kind = type(last) if isinstance(last, (Unfinished, DeliveredWrong)) else DeliveredWrong
    return kind("\n  ".join([*map(str, reasons), *left]))


def _deploy_template(deployment: StageDeployment, between: Unscaled, template: Template) -> None:
    stack = between.endpoint.stack
    with deployment.assembly.with_template(stack, template) as folder:
        deployment.deploy(stack, assembly=folder)
