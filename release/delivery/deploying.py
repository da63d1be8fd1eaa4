"""Every stack of a stage is deployed, a scaled variant that changes in two steps."""

from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client import EndpointError
from release.delivery.deployment import Deployment
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


def deploy(deployment: Deployment) -> None:
    """Deploy every stack, after what an earlier delivery has begun.

    A scaled variant that gets other instances may not be registered for scaling then: its stack
    is deployed twice, first as it is without that scaling. CloudFormation deletes last, so that
    the new template without it would not do.

    Raises `NotDelivered` with CloudFormation's reasons, once what was scaled is scaled again,
    and `DeliveredWrong` where it is not; `RollbackFailed` where CloudFormation could not bring
    a stack back; `Unfinished` where CloudFormation goes on or nobody can ask, such as after the
    credentials have expired.
    """
    begun: list[Unscaled] = []
    stacks = deployment.at_rest()
    try:
        with unfinished(may_be_updating(stacks)):
            for endpoint in deployment.assembly.endpoints:
                live, new = deployment.live(endpoint), deployment.new(endpoint)
                if live and (it := unscaled(endpoint, live, new)):
                    say(f"  {endpoint.name} is deployed twice: first {it.variants} without scaling")
                    begun.append(it)
                    _deploy_template(deployment, it, it.without)
            deployment.deploy(*stacks)
    except NotDelivered as error:
        scaled = _scaled_again(deployment, begun, error)
        raise NotDelivered("\n  ".join([str(error), *scaled])) from None
    except (Unfinished, DeliveredWrong, BotoCoreError, ClientError, EndpointError) as error:
        if not begun:
            raise
        raise _kind(error)("\n  ".join([str(error), *(it.left for it in begun)])) from None


def _scaled_again(
    deployment: Deployment, begun: list[Unscaled], because: NotDelivered
) -> list[str]:
    """Bring scaling back where a stack was rolled back to what it is without; say so."""
    said = []
    cloudformation = deployment.session.client("cloudformation")
    for it in begun:
        try:
            with unfinished(may_be_updating([it.endpoint.stack])):
                if stack_template(cloudformation, it.endpoint.stack) != it.without:
                    continue  # it has its new template, or the first deploy was rolled back too
                _deploy_template(deployment, it, it.live)
        except (Unfinished, DeliveredWrong, NotDelivered, ClientError, EndpointError) as error:
            raise _kind(error)(f"{because}\n  {it.left}\n  {error}") from None
        said.append(f"{it.endpoint.name}: {it.variants} scales again, as before")
    return said


def _deploy_template(deployment: Deployment, it: Unscaled, template: Template) -> None:
    with deployment.assembly.with_template(it.endpoint.stack, template) as folder:
        deployment.deploy(it.endpoint.stack, assembly=folder)


def _kind(error: Exception) -> type[Exception]:
    """Return how a deploy of which a part was done ends with `error`."""
    return type(error) if isinstance(error, (Unfinished, DeliveredWrong)) else DeliveredWrong
