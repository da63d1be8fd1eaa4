"""What a rollback would take away from endpoints that are live."""

from release.delivery.deployment import Deployment
from release.delivery.errors import NotDelivered
from release.exports import exporter, exports, imports


def refuse_lost_exports(deployment: Deployment) -> None:
    """Raise `NotDelivered` where an endpoint imports what the stacks will no longer export.

    CloudFormation refuses to delete an export that another stack imports (user guide, "Get
    exported outputs from a deployed CloudFormation stack"), and endpoints change last. One
    whose stack left the app is not asked.
    """
    deployment.at_rest()
    new = deployment.assembly.templates
    exported = frozenset[str]().union(*map(exports, new.values()))
    for endpoint in deployment.assembly.endpoints:
        imported = imports(deployment.live(endpoint) or {})
        lost = sorted(it for it in imported - exported if exporter(it) in new)
        if lost:
            raise NotDelivered(
                f"{endpoint.stack} imports {', '.join(lost)}, which that commit does not export, "
                "and CloudFormation does not delete an export in use. Nothing was changed. Revert "
                "the bad change on top of the live commit, and deliver that instead: make deliver "
                f"STAGE={deployment.assembly.stage}"
            )
