"""Every stack of a stage is deployed, a scaled variant that changes in two steps."""

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
    """Deploy every stack, after operations that are in progress.

    A scaled variant that gets other instances may not be registered for scaling then: its stack
    is deployed twice, first as it is without that scaling. CloudFormation deletes last, so that
    the new template without it would not do.

    Raises `NotDelivered` with CloudFormation's reasons, once what was scaled is scaled again,
    and `DeliveredWrong` where it is not; `RollbackFailed` where CloudFormation could not roll back
    a stack; `Unfinished` where CloudFormation goes on, or AWS does not answer any more.
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
    """Bring scaling back where a stack was rolled back to the template without it.

    Elsewhere it has its new template, or the first deploy was rolled back, too.
    """
    stack = between.endpoint.stack
    with unfinished(may_be_updating([stack])):
        if stack_template(deployment.session.client("cloudformation"), stack) != between.without:
            return ""
        _deploy_template(deployment, between, between.live)
    return f"{between} scales again, as before"


def _may_be_unscaled(begun: list[Unscaled], *reasons: str | Exception) -> Exception:
    """Return the last of the reasons as an error that names what may not be scaled."""
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
