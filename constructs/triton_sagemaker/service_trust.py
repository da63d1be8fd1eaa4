"""Trust policies for AWS services, limited to one account."""

from aws_cdk import Stack
from aws_cdk import aws_iam as iam
from constructs import Construct


def trusted_service(service: str, *, account: str) -> iam.PrincipalBase:
    """Return the principal of a service, with a condition on the source account.

    Without the condition, another account could make the service use this account's role (the
    confused deputy problem). Documented for roles of Lambda ("When a service assumes a
    role in your account", lambda/latest/dg/permissions-managed-policies.html) and of SageMaker
    (sagemaker/latest/dg/security-confused-deputy-prevention.html). CodeBuild also sends the key:
    hmrc/platsec-ci-terraform, modules/git_tag_step/iam.tf, has the same condition.
    """
    return iam.ServicePrincipal(service).with_conditions({"StringEquals": _source(account)})


def narrow_role_trust(construct: Construct) -> None:
    """Add the condition of `trusted_service` to the roles that the CDK creates in a construct.

    These are roles of Step Functions (step-functions/latest/dg/procedure-create-iam-role.html).
    """
    for child in construct.node.find_all():
        if isinstance(child, iam.CfnRole):
            statement = "AssumeRolePolicyDocument.Statement.0"
            child.add_property_override(
                f"{statement}.Condition.StringEquals", _source(Stack.of(construct).account)
            )


def _source(account: str) -> dict[str, str]:
    return {"aws:SourceAccount": account}
