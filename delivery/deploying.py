"""Deploy every stack of a stage; twice, if the instance type of a scaled variant changes."""

from botocore.exceptions import BotoCoreError, ClientError

from delivery.deployment import StageDeployment
from delivery.errors import (
    DeliveryError,
    FaultyDeployment,
    NotDelivered,
    Unfinished,
    raise_unfinished,
    still_updating_message,
)
from delivery.steps import say
from delivery.suspended_scaling import SuspendedScaling, suspend_scaling
from release.stack_template import stack_template
from release.templates import Template

DEPLOY_ERRORS = (Unfinished, FaultyDeployment, BotoCoreError, ClientError)


def deploy(deployment: StageDeployment) -> None:
    """Deploy the stacks of a deployment, after operations in progress have ended.

    SageMaker does not change the instance type of a variant that is registered for scaling. A stack
    with such a change is deployed twice: first with its live template without that scaling, then
    with the new template. The new template without scaling could not be the first, because
    CloudFormation deletes resources last: the scaling would still exist during the update.

    Raise `NotDelivered` with the reasons if the old scaling was restored, `FaultyDeployment` if it
    was not; `RollbackFailed` if CloudFormation could not roll a stack back; `Unfinished` if
    CloudFormation is still working or AWS does not answer.
    """
    deployment.wait_for_operations()
    stacks = deployment.stacks
    suspended: list[SuspendedScaling] = []
    try:
        with raise_unfinished(still_updating_message(stacks)):
            for endpoint in deployment.assembly.endpoints:
                live_template = deployment.live_template(endpoint)
                new_template = deployment.new_template(endpoint)
                if live_template and (
                    scaling := suspend_scaling(endpoint, live_template, new_template)
                ):
                    say(f"  {scaling}: the stack is deployed twice, first without scaling")
                    suspended.append(scaling)
                    _deploy_template(deployment, scaling, scaling.template_without)
            deployment.deploy(*stacks)
    except NotDelivered as error:
        try:
            messages = [_restore_scaling(deployment, scaling) for scaling in suspended]
        except (*DEPLOY_ERRORS, NotDelivered) as failure:
            raise _add_scaling_warnings(suspended, str(error), failure) from None
        raise NotDelivered("\n  ".join([str(error), *filter(None, messages)])) from None
    except DEPLOY_ERRORS as failure:
        if not suspended:
            raise
        raise _add_scaling_warnings(suspended, failure) from None


def _restore_scaling(deployment: StageDeployment, scaling: SuspendedScaling) -> str:
    """Restore the scaling of a stack that was rolled back to the template without scaling.

    Return a message. If the stack has another template, return an empty text: either the second
    deploy succeeded, or the first deploy was rolled back.
    """
    stack = scaling.endpoint.stack
    with raise_unfinished(still_updating_message([stack])):
        live_template = stack_template(deployment.session.client("cloudformation"), stack)
        if live_template != scaling.template_without:
            return ""
        _deploy_template(deployment, scaling, scaling.live_template)
    return f"{scaling} scales again, as before"


def _add_scaling_warnings(
    suspended: list[SuspendedScaling], *reasons: str | Exception
) -> Exception:
    """Return an error of the last reason's type with all reasons and a warning for each variant."""
    warnings = (
        f"{scaling} may run without scaling, with its current number of instances, until the stage "
        "is delivered again"
        for scaling in suspended
    )
    error = reasons[-1]
    error_type: type[DeliveryError] = FaultyDeployment
    if isinstance(error, (Unfinished, FaultyDeployment)):
        error_type = type(error)
    return error_type("\n  ".join([*map(str, reasons), *warnings]))


def _deploy_template(
    deployment: StageDeployment, scaling: SuspendedScaling, template: Template
) -> None:
    stack = scaling.endpoint.stack
    with deployment.assembly.with_template(stack, template) as folder:
        deployment.deploy(stack, assembly=folder)
