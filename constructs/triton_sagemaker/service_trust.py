"""Trust policies for AWS services, restricted to this account."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct


def trusted_service(service: str, *, account: str) -> iam.PrincipalBase:
    """Return a service principal that may only act on behalf of `account`.

    The condition prevents another account from making the service use a role of this account
    (confused deputy). Documented for roles of Lambda ("When a service assumes a role in your
    account", lambda/latest/dg/permissions-managed-policies.html) and of SageMaker
    (sagemaker/latest/dg/security-confused-deputy-prevention.html). CodeBuild also
    sends the condition key: hmrc/platsec-ci-terraform, modules/git_tag_step/iam.tf, has it.
    """
    return iam.ServicePrincipal(service).with_conditions(
        {"StringEquals": {"aws:SourceAccount": account}}
    )


def restrict_trust(construct: Construct) -> None:
    """Add the condition of `trusted_service` to the roles that the CDK creates in a construct.

    These are roles of Step Functions (step-functions/latest/dg/procedure-create-iam-role.html).
    """
    condition = "AssumeRolePolicyDocument.Statement.0.Condition.StringEquals"
    for child in construct.node.find_all():
        if isinstance(child, iam.CfnRole):
            child.add_property_override(
                condition, {"aws:SourceAccount": Stack.of(construct).account}
            )
