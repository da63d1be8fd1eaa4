"""Deploy every stack of a stage; twice, if the instance type of a scaled variant changes."""

from botocore.exceptions import BotoCoreError, ClientError

from release.delivery.deployment import StageDeployment
from release.delivery.errors import (
    DeliveredWrong,
    NotDelivered,
    Unfinished,
    may_be_updating,
    unfinished,
)
from release.delivery.steps import say
from release.delivery.suspended_scaling import SuspendedScaling, suspend_scaling
from release.stack_template import stack_template
from release.tree import Template

FAILURES = (Unfinished, DeliveredWrong, BotoCoreError, ClientError)


def deploy(deployment: StageDeployment) -> None:
    """Deploy every stack, after operations in progress have ended.

    SageMaker does not change the instance type of a variant that is registered for scaling: such a
    stack is deployed twice, first with its live template without that scaling. The new template
    without scaling would be refused, because CloudFormation deletes resources last.

    Raise `NotDelivered` with the reasons once the old scaling is restored, `DeliveredWrong` if it
    is not; `RollbackFailed` if CloudFormation could not roll a stack back; `Unfinished` if
    CloudFormation is still working or AWS does not answer.
    """
    deployment.wait_for_operations()
    stacks = tuple(deployment.assembly.templates)
    suspended: list[SuspendedScaling] = []
    try:
        with unfinished(may_be_updating(stacks)):
            for endpoint in deployment.assembly.endpoints:
                live, new = deployment.live_template(endpoint), deployment.new_template(endpoint)
                if live and (scaling := suspend_scaling(endpoint, live, new)):
                    say(f"  {scaling}: the stack is deployed twice, first without scaling")
                    suspended.append(scaling)
                    _deploy_template(deployment, scaling, scaling.without)
            deployment.deploy(*stacks)
    except NotDelivered as error:
        try:
            restored = [_restore_scaling(deployment, scaling) for scaling in suspended]
        except (*FAILURES, NotDelivered) as failure:
            raise _scaling_may_be_off(suspended, str(error), failure) from None
        raise NotDelivered("\n  ".join([str(error), *filter(None, restored)])) from None
    except FAILURES as failure:
        if not suspended:
            raise
        raise _scaling_may_be_off(suspended, failure) from None


def _restore_scaling(deployment: StageDeployment, scaling: SuspendedScaling) -> str:
    """Restore the scaling of a stack that was rolled back to the template without scaling.

    Return a message. Return an empty text for a stack with any other template: it is the new one,
    or the first deploy was rolled back.
    """
    stack = scaling.endpoint.stack
    with unfinished(may_be_updating([stack])):
        if stack_template(deployment.session.client("cloudformation"), stack) != scaling.without:
            return ""
        _deploy_template(deployment, scaling, scaling.live)
    return f"{scaling} scales again, as before"


def _scaling_may_be_off(suspended: list[SuspendedScaling], *reasons: str | Exception) -> Exception:
    """Return an error of the last reason's type that names the variants without scaling."""
    warnings = (
        f"{scaling} may run without scaling, with its current number of instances, until the stage "
        "is delivered again"
        for scaling in suspended
    )
    last = reasons[-1]
    kind = type(last) if isinstance(last, (Unfinished, DeliveredWrong)) else DeliveredWrong
    return kind("\n  ".join([*map(str, reasons), *warnings]))


def _deploy_template(
    deployment: StageDeployment, scaling: SuspendedScaling, template: Template
) -> None:
    stack = scaling.endpoint.stack
    with deployment.assembly.with_template(stack, template) as folder:
        deployment.deploy(stack, assembly=folder)
