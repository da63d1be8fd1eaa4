"""Comparison of the policies of every stage with the permission ledger, and changed policies."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import platform_facts
from cli.permissions import ACTIONS, MAX_POLICY, deployer_policy, execution_policies
from delivery.permissions import principals
from stages import StageConfig, load_stage
from tests.permission_names import Place
from tests.synth.conftest import templates_of
from tests.synth.deployed import Deployed
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE, every_stage
from tests.synth.permissions import (
    StageUnderTest,
    excess_permissions,
    missing_permissions,
    repository_of,
    resolved_principals,
    resource_policy,
)
from tests.synth.statements import allows, role_allows

Stacks = dict[str, dict[str, Any]]
Resources = dict[str, dict[str, Any]]


def stage_under_test(settings: StageConfig, name: str, templates: Stacks) -> StageUnderTest:
    region = platform_facts.region(settings.region)
    deployed = Deployed(templates, region=region.name, account=settings.account or ACCOUNT)
    sources = {
        resource.id.partition(".")[2][:7]: deployed.value(
            resource.properties["Source"]["Location"], resource.stack
        )
        for resource in deployed.of_type("AWS::CodeBuild::Project")
    }
    mirror = next(iter(settings.gpu_build_images.values()), "*")
    own = [endpoint.image.uri for endpoint in settings.endpoints.values() if endpoint.image]
    promotes_from = settings.delivery.promotes_from if settings.delivery else None
    used = settings.existing
    arn = f"arn:{deployed.partition}:ec2:{region.name}:{deployed.account}:vpc/{used.vpc_id}"
    bucket = f"arn:{deployed.partition}:s3:::{used.capture_bucket}/{name}"
    existing = {
        "vpc": used.vpc_id and arn,
        "model_key": used.kms_key_arn,
        "capture_key": used.kms_key_arn,
        "capture_bucket": used.capture_bucket and bucket,
    }
    placeholders = Place(
        qualifier=used.bootstrap_qualifier or "hnb659fds",
        existing={key: value for key, value in existing.items() if value},
        partition=deployed.partition,
        suffix=region.dns_suffix,
        region=region.name,
        account=deployed.account,
        stage=name,
        source_stage=promotes_from or "*",
        registry=str(region.account(platform_facts.release(settings.release))),
        builder_source=sources.get("Builder", "*").rpartition("/")[2],
        mirror=mirror,
        mirror_repository="*" if mirror == "*" else repository_of(mirror),
        own_repository=repository_of(own[0]) if own else "*",
        engines_source=sources.get("Engines", "*").rpartition("/")[2],
    )
    return StageUnderTest(deployed, placeholders)


def test_shipped_stage_matches_the_ledger(stage: str) -> None:
    tested_stage = stage_under_test(load_stage(stage), stage, templates_of(stage))
    assert list(missing_permissions(tested_stage)) == []
    assert list(excess_permissions(tested_stage)) == []


# Of the stage `role`, the execution role is outside of the templates.
@pytest.mark.parametrize("name", sorted(EVERY_STAGE.keys() - {"role"}))
def test_generated_stage_matches_the_ledger(name: str) -> None:
    tested_stage = stage_under_test(every_stage(name), name, templates_of(name))
    assert list(missing_permissions(tested_stage)) == []
    assert list(excess_permissions(tested_stage)) == []


def test_every_ledger_row_is_tested() -> None:
    tested_stages = [
        stage_under_test(load_stage("local"), "local", templates_of("local")),
        *(
            stage_under_test(every_stage(name), name, templates_of(name))
            for name in ("all", "plain", "components", "existing")
        ),
    ]
    tested = {
        (grant.principal.name, row.step)
        for tested_stage in tested_stages
        for grant in resolved_principals(tested_stage)
        for row in grant.rows
    }
    expected = {
        (principal.name, row.step)
        for principal in principals()
        if not principal.granted_by
        for row in principal.rows
    }
    assert expected - tested == set()


def statement(policy: dict[str, Any], action: str) -> dict[str, Any]:
    """Return the statement with an action, of an identity, resource or key policy."""
    properties = policy["Properties"]
    document = properties.get("PolicyDocument", properties.get("KeyPolicy"))
    result: dict[str, Any] = next(
        statement for statement in document["Statement"] if action in str(statement["Action"])
    )
    return result


def resource_by_prefix(resources: Resources, prefix: str, kind: str) -> dict[str, Any]:
    return next(
        resource
        for id_, resource in resources.items()
        if id_.startswith(prefix) and resource["Type"] == kind
    )


def policy(resources: Resources, role: str) -> dict[str, Any]:
    """Return the policy of a role."""
    return resource_by_prefix(resources, f"{role}DefaultPolicy", "AWS::IAM::Policy")


def remove_action(statement: dict[str, Any], action: str) -> None:
    statement["Action"].remove(action)


class PolicyChange(NamedTuple):
    """A change of a stack, the check that must report it, and the start of its message."""

    description: str
    stack: str
    apply: Callable[[Resources], object]
    check: Callable[[StageUnderTest], Iterator[str]]
    message: str


BUILDER, ENDPOINT, POLL = "BuilderProjectRole", "EndpointRole", "BuilderPollRole"

CHANGES = [
    PolicyChange(
        "missing action",
        "prod-models",
        lambda resources: remove_action(
            statement(policy(resources, BUILDER), "s3:AbortMultipartUpload"),
            "s3:AbortMultipartUpload",
        ),
        missing_permissions,
        "lacks s3:AbortMultipartUpload on",
    ),
    PolicyChange(
        "key policy of another account",
        "prod-models",
        lambda resources: statement(
            resource_by_prefix(resources, "ModelsKey", "AWS::KMS::Key"), "kms:*"
        ).update(Principal={"AWS": "arn:aws:iam::444455556666:root"}),
        missing_permissions,
        "prod-text.EndpointRoleB9AA434A lacks kms:Decrypt",
    ),
    PolicyChange(
        "missing condition",
        "prod-models",
        lambda resources: statement(policy(resources, BUILDER), "codebuild:StartBuild")[
            "Condition"
        ]["Null"].pop("codebuild:serviceRole"),
        excess_permissions,
        "may codebuild:StartBuild on",
    ),
    PolicyChange(
        "NotAction",
        "prod-models",
        lambda resources: (
            statement(policy(resources, POLL), "codebuild:").update(
                {"Action": None, "NotAction": "iam:*", "Sid": "AlmostAll"}
            )
            or statement(policy(resources, POLL), "None").pop("Action")
        ),
        excess_permissions,
        "uses NotAction or NotResource: AlmostAll",
    ),
    PolicyChange(
        "trust policy without source account",
        "prod-text",
        lambda resources: resource_by_prefix(resources, ENDPOINT, "AWS::IAM::Role")["Properties"][
            "AssumeRolePolicyDocument"
        ]["Statement"][0].pop("Condition"),
        excess_permissions,
        "without aws:SourceAccount",
    ),
    PolicyChange(
        "unknown role",
        "prod-models",
        lambda resources: resources.update(
            Another=resource_by_prefix(resources, POLL, "AWS::IAM::Role")
        ),
        excess_permissions,
        "prod-models.Another is in no file of the ledger",
    ),
    PolicyChange(
        "public bucket",
        "prod-models",
        lambda resources: resource_by_prefix(
            resources, "ModelsBucketPolicy", "AWS::S3::BucketPolicy"
        )["Properties"]["PolicyDocument"]["Statement"].append(
            {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
        ),
        excess_permissions,
        "allows *, which is in no file of the ledger",
    ),
]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.description)
def test_changed_policy_is_reported(change: PolicyChange) -> None:
    changed_templates = copy.deepcopy(templates_of("prod"))
    change.apply(changed_templates[change.stack]["Resources"])
    assert change.message in "\n".join(
        change.check(stage_under_test(load_stage("prod"), "prod", changed_templates))
    )


IF_NONE_MATCH = {"s3:if-none-match": "*", "s3:ObjectCreationOperation": "true"}
OVERWRITE = {"s3:ObjectCreationOperation": "true"}
UPLOAD_PART = {"s3:ObjectCreationOperation": "false"}
ARCHIVE_KEY = "text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz"


@pytest.mark.parametrize(
    ("role_name", "key", "context", "allowed"),
    [
        ("Person", ARCHIVE_KEY, IF_NONE_MATCH, False),
        ("Person", ARCHIVE_KEY, UPLOAD_PART, False),
        ("Person", ARCHIVE_KEY.replace(".tar.gz", ".json"), IF_NONE_MATCH, False),
        ("Person", f"sources/{'d' * 64}.zip", IF_NONE_MATCH, False),
        ("Person", "engines/job/result.json", IF_NONE_MATCH, False),
        ("Person", "published/cuda-25.09-sm86/minilm-0123456789ab.tar.gz", IF_NONE_MATCH, False),
        ("Person", "engine-jobs/job/raw/build/result.json", OVERWRITE, False),
        ("Person", "text/cuda-25.09-sm86/published/minilm-0123456789ab.tar.gz", IF_NONE_MATCH,
         True),
        ("Person", "engine-jobs/job/claims/0001.json", IF_NONE_MATCH, True),
        ("Person", "history/20261123T000000.000000Z-a1b2c3d4.json", IF_NONE_MATCH, True),
        ("Person", "history/20261123T000000.000000Z-a1b2c3d4.json", OVERWRITE, False),
        ("Person", f"releases/{'d' * 64}.json", IF_NONE_MATCH, False),
        ("all-delivery-Deploy", f"releases/{'d' * 64}.json", IF_NONE_MATCH, True),
        ("all-delivery-Deploy", f"releases/{'d' * 64}.json", OVERWRITE, False),
        ("plain-delivery-Deploy", f"releases/{'d' * 64}.json", IF_NONE_MATCH, False),
        ("BuilderProjectRole", ARCHIVE_KEY, IF_NONE_MATCH, True),
        ("BuilderProjectRole", ARCHIVE_KEY, UPLOAD_PART, True),
        ("BuilderProjectRole", ARCHIVE_KEY, OVERWRITE, False),
        ("BuilderProjectRole", "engine-jobs/job/raw/build/result.json", OVERWRITE, False),
        ("BuilderProjectRole", "engines/job/a1b2", OVERWRITE, True),
        ("EnginesProjectRole", "engine-jobs/job/raw/build/result.json", OVERWRITE, True),
        ("EnginesProjectRole", ARCHIVE_KEY, IF_NONE_MATCH, False),
        ("all-delivery-Deploy", ARCHIVE_KEY, IF_NONE_MATCH, True),
        ("all-delivery-Deploy", ARCHIVE_KEY, OVERWRITE, False),
        ("plain-delivery-Deploy", ARCHIVE_KEY, IF_NONE_MATCH, False),
    ],
)  # fmt: skip
def test_bucket_policy_decides_who_may_write(
    role_name: str, key: str, context: dict[str, str], allowed: bool
) -> None:
    # The identity policy allows everything, so the bucket policy decides.
    tested_stage = stage_under_test(every_stage("all"), "all", templates_of("all"))
    roles = {
        resource.id: tested_stage.deployed.arn(resource)
        for resource in tested_stage.deployed.of_type("AWS::IAM::Role")
    }
    arns = [arn for name, arn in roles.items() if role_name in name]
    arn = arns[0] if arns else f"arn:aws:iam::{tested_stage.deployed.account}:role/{role_name}A1B2"
    buckets = tested_stage.deployed.of_type("AWS::S3::Bucket")
    (bucket,) = (
        tested_stage.deployed.arn(bucket) for bucket in buckets if ".ModelsBucket" in bucket.id
    )
    allow_all = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
    bucket_statements = resource_policy(tested_stage, bucket)
    result = role_allows(
        arn,
        allow_all,
        "s3:PutObject",
        resource=f"{bucket}/{key}",
        resource_statements=bucket_statements,
        context=context,
    )
    assert result is allowed


IAM = "arn:aws:iam::111122223333:"


def execution_statements(templates: Stacks, existing: dict[str, str]) -> list[dict[str, Any]]:
    """Return the statements of CloudFormation's role for the stage `x`, each policy checked."""
    types = {
        resource["Type"]
        for template in templates.values()
        for resource in template["Resources"].values()
    }
    policies = list(execution_policies(types, "x", iam=IAM, existing=existing))
    assert all(len(json.dumps(each, separators=(",", ":"))) <= MAX_POLICY for each in policies)
    return [statement for policy in policies for statement in policy["Statement"]]


def assert_actions_exist(statements: list[dict[str, Any]]) -> None:
    services = json.loads(ACTIONS.read_text())
    for action in (action for row in statements for action in row["Action"]):
        service, _, name = action.partition(":")
        assert name.lower() in services[service]["Actions"], action


def test_policies_of_deployers_cover_the_stage(stage: str) -> None:
    policy = deployer_policy(stage, "us-east-1", "*", "acme", {})
    assert len(json.dumps(policy, separators=(",", ":"))) <= MAX_POLICY
    assert "role/cdk-acme-deploy-role-" in json.dumps(policy)
    statements = execution_statements(templates_of(stage), {}) + policy["Statement"]
    assert_actions_exist(statements)
    actions = {action for row in statements for action in row["Action"]}
    assert {"codebuild:CreateProject", "lambda:InvokeFunction", "kms:CreateKey"} <= actions
    assert {"sagemaker:CreateEndpoint", "sagemaker:UpdateEndpoint", "sts:AssumeRole"} <= actions
    assert allows(statements, "iam:CreateRole", resource=f"{IAM}role/x-models-A")
    assert not allows(statements, "iam:CreateRole", resource=f"{IAM}role/other")
    assert not allows(statements, "iam:PutUserPolicy", resource=f"{IAM}user/x-user")


def test_deployers_of_a_stage_with_an_existing_key_read_its_catalog_and_promote() -> None:
    key = "arn:aws:kms:us-east-1:210987654321:key/x"
    policy = deployer_policy("x", "us-east-1", "*", "acme", {"kms_key_arn": key})
    assert len(json.dumps(policy, separators=(",", ":"))) <= MAX_POLICY
    services = {
        row["Condition"]["StringEquals"]["kms:ViaService"]
        for row in policy["Statement"]
        if key in row["Resource"] and "kms:Decrypt" in row["Action"]
    }
    assert services == {"dynamodb.us-east-1.amazonaws.com", "s3.us-east-1.amazonaws.com"}
    source = "arn:aws:s3:::dev-models-modelsbucket1/list.jsonl"
    assert allows(policy["Statement"], "s3:GetObject", resource=source)


@pytest.mark.parametrize(
    ("action", "resource", "allowed"),
    [
        ("iam:PassRole", f"{IAM}role/teams/serving", True),
        ("iam:PutRolePolicy", f"{IAM}role/teams/serving", False),
        ("iam:PassRole", f"{IAM}role/x-models-A", True),
        ("iam:CreateOpenIDConnectProvider",
         f"{IAM}oidc-provider/token.actions.githubusercontent.com", True),
        ("iam:CreateOpenIDConnectProvider", f"{IAM}role/x-models-A", False),
        ("iam:CreateServiceLinkedRole",
         f"{IAM}role/aws-service-role/sagemaker.application-autoscaling.amazonaws.com/"
         "AWSServiceRoleForApplicationAutoScaling_SageMakerEndpoint", True),
        ("iam:CreateServiceLinkedRole", f"{IAM}role/x-models-A", False),
        ("iam:DeleteRolePermissionsBoundary", f"{IAM}role/x-models-A", False),
        ("iam:DeleteRole", f"{IAM}role/x-models-A", True),
    ],
)  # fmt: skip
def test_cloudformation_may_change_own_roles_only(
    action: str, resource: str, allowed: bool
) -> None:
    existing = {
        "execution_role_arn": f"{IAM}role/teams/serving",
        "permissions_boundary": "teams/boundary",
    }
    statements = execution_statements(templates_of("all"), existing)
    assert_actions_exist(statements)
    assert allows(statements, action, resource=resource) is allowed


@pytest.mark.parametrize(
    "action", ["AttachRolePolicy", "CreateRole", "PutRolePermissionsBoundary", "PutRolePolicy"]
)
def test_cloudformation_creates_no_role_without_the_boundary(action: str) -> None:
    existing = {"permissions_boundary": "teams/boundary"}
    statements = execution_statements(templates_of("all"), existing)
    for boundary, allowed in {"teams/boundary": True, "teams/other": False}.items():
        context = {"iam:PermissionsBoundary": f"{IAM}policy/{boundary}"}
        role = f"{IAM}role/x-models-A"
        assert allows(statements, f"iam:{action}", resource=role, context=context) is allowed
    assert not allows(statements, f"iam:{action}", resource=role)
