"""Trust policies for AWS services, restricted to this account."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct


def trusted_service(service: str, *, account: str) -> iam.PrincipalBase:
    """Return the principal of a service, with a condition on the account it acts for.

    The condition prevents that another account makes the service use a role of this account
    (confused deputy). Documented for roles of Lambda ("When a service assumes a role in your
    account", lambda/latest/dg/permissions-managed-policies.html) and of SageMaker
    (sagemaker/latest/dg/security-confused-deputy-prevention.html). CodeBuild also
    sends the condition key: hmrc/platsec-ci-terraform, modules/git_tag_step/iam.tf, has it.
    """
    return iam.ServicePrincipal(service).with_conditions({"StringEquals": _source(account)})


def narrow_trust(made: Construct) -> None:
    """Add the condition of `trusted_service` to the roles that the CDK creates for a construct.

    These are roles of Step Functions (step-functions/latest/dg/procedure-create-iam-role.html).
    """
    for child in made.node.find_all():
        if isinstance(child, iam.CfnRole):
            statement = "AssumeRolePolicyDocument.Statement.0"
            child.add_property_override(
                f"{statement}.Condition.StringEquals", _source(Stack.of(made).account)
            )


def _source(account: str) -> dict[str, str]:
    return {"aws:SourceAccount": account}
