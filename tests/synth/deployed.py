"""A stage's templates as if they were deployed: references are names and ARNs."""

import uuid

from tests.synth.assembly import NAMES, Assembly, Resource

SUFFIX = "EXAMPLE12345"
"""What CloudFormation completes names with."""

_ARNS = {
    "AWS::CodeBuild::Project": "codebuild:{place}:project/{name}",
    "AWS::IAM::OIDCProvider": "iam::{account}:oidc-provider/{name}",
    "AWS::IAM::Role": "iam::{account}:role/{name}",
    "AWS::KMS::Key": "kms:{place}:key/{name}",
    "AWS::Lambda::Function": "lambda:{place}:function:{name}",
    "AWS::Logs::LogGroup": "logs:{place}:log-group:{name}:*",
    "AWS::S3::Bucket": "s3:::{name}",
    "AWS::SNS::Topic": "sns:{place}:{name}",
    "AWS::StepFunctions::StateMachine": "states:{place}:stateMachine:{name}",
}
_REFS_ARE_ARNS = ("AWS::IAM::OIDCProvider", "AWS::SNS::Topic", "AWS::StepFunctions::StateMachine")
"""Of what `Ref` gives the ARN (CloudFormation template reference, "Return values")."""


class Deployed(Assembly):
    """An assembly in which each resource has the ARN that AWS would give it."""

    def reference(self, resource: str, _attribute: str | None = None) -> str:
        """Return a resource's ARN or name; for what has no ARN here, what an assembly returns."""
        found = self.resources[resource]
        if found.kind not in _ARNS or _attribute not in (None, "Arn"):
            return super().reference(resource)
        if _attribute == "Arn" or found.kind in _REFS_ARE_ARNS:
            return self.arn(found)
        return self._name(found)

    def arn(self, resource: Resource) -> str:
        """Return the ARN of a resource."""
        place = f"{self.region}:{self.account}"
        own = _ARNS[resource.kind].format(
            place=place, account=self.account, name=self._name(resource)
        )
        return f"arn:{self.partition}:{own}"

    def _name(self, resource: Resource) -> str:
        given = resource.properties.get(NAMES.get(resource.kind, ""))
        if isinstance(given, str):
            return given
        if resource.kind == "AWS::IAM::OIDCProvider":
            return str(resource.properties["Url"]).removeprefix("https://")
        if resource.kind == "AWS::KMS::Key":
            return str(uuid.uuid5(uuid.NAMESPACE_URL, resource.id))
        stack, _, logical_id = resource.id.partition(".")
        name = f"{stack}-{logical_id}-{SUFFIX}"
        return name.lower() if resource.kind == "AWS::S3::Bucket" else name
