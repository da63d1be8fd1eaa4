"""Every stage's policies allow what the ledger needs, and nothing else; each gap is seen."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template

import platform_facts
from release.permissions import Place, principals
from stacks import DeliveryStack
from stages import DeliveryStage, load_stage, stage_names
from tests.synth.conftest import CONTEXT, Templates
from tests.synth.deployed import Deployed
from tests.synth.permissions import Site, beyond, every, missing

ACCOUNT = "111122223333"
FROM = "dev"

Stacks = dict[str, dict[str, Any]]
Resources = dict[str, dict[str, Any]]


def site(stage: str, templates: Stacks, *, source_stage: str = "*") -> Site:
    settings = load_stage(stage)
    region = platform_facts.region(settings.region)
    deployed = Deployed(templates, region=region.name, account=settings.account or ACCOUNT)
    engines = [
        deployed.text(it.properties["Source"]["Location"], it.stack)
        for it in deployed.of("AWS::CodeBuild::Project")
        if ".EnginesProject" in it.id
    ]
    place = Place(
        region=region.name,
        account=deployed.account,
        stage=stage,
        source_stage=source_stage,
        registry=str(region.account(platform_facts.release(settings.release))),
        engines_source=engines[0].rpartition("/")[2] if engines else "*",
    )
    return Site(deployed, place)


def delivery(stage: str, *, promotes_from: str | None = None) -> Stacks:
    """The stack of the roles that deliver a stage, which no shipped stage has."""
    stack = DeliveryStack(
        App(context=CONTEXT),
        f"{stage}-delivery",
        stage_name=stage,
        delivery=DeliveryStage(repository="octo-org/octo-repo", promotes_from=promotes_from),
        env=Environment(account=ACCOUNT, region="us-east-1"),
    )
    return {stack.stack_name: dict(Template.from_stack(stack).to_json())}


@pytest.fixture(scope="module")
def delivered(templates: Templates) -> Stacks:
    """Production with a delivery that promotes."""
    return templates("prod") | delivery("prod", promotes_from=FROM)


def test_a_stage_allows_what_is_needed_and_nothing_else(stage: str, templates: Templates) -> None:
    given = site(stage, templates(stage))
    assert list(missing(given)) == []
    assert list(beyond(given)) == []


def test_so_does_a_stage_that_is_delivered(templates: Templates) -> None:
    given = site("prod", templates("prod") | delivery("prod"))
    assert list(missing(given)) == []
    assert list(beyond(given)) == []


def test_so_does_a_stage_that_archives_are_promoted_to(delivered: Stacks) -> None:
    given = site("prod", delivered, source_stage=FROM)
    assert list(missing(given)) == []
    assert list(beyond(given)) == []


def test_every_row_is_held_against_some_stage(templates: Templates, delivered: Stacks) -> None:
    sites = [site(it, templates(it)) for it in stage_names()]
    sites.append(site("prod", delivered, source_stage=FROM))
    tried = {(it.principal.name, row.step) for one in sites for it in every(one) for row in it.rows}
    wanted = {(it.name, row.step) for it in principals() if not it.granted for row in it.rows}
    assert wanted - tried == set()


def statement(policy: dict[str, Any], action: str) -> dict[str, Any]:
    """The statement of a policy, of a resource's policy, or of a key's, that has an action."""
    properties = policy["Properties"]
    document = properties.get("PolicyDocument", properties.get("KeyPolicy"))
    found: dict[str, Any] = next(it for it in document["Statement"] if action in str(it["Action"]))
    return found


def named(resources: Resources, prefix: str, kind: str) -> dict[str, Any]:
    return next(
        it for id_, it in resources.items() if id_.startswith(prefix) and it["Type"] == kind
    )


def policy(resources: Resources, role: str) -> dict[str, Any]:
    """The policy of a role."""
    return named(resources, f"{role}DefaultPolicy", "AWS::IAM::Policy")


def without(given: dict[str, Any], action: str) -> None:
    given["Action"] = [it for it in given["Action"] if it != action]


class Broken(NamedTuple):
    """What is done to a stack, and what is said of it."""

    what: str
    stack: str
    change: Callable[[Resources], object]
    check: Callable[[Site], Iterator[str]]
    told: str


BUILDER, ENDPOINT, START = "BuilderProjectRole", "EndpointRole", "BuilderOnEventRole"

BROKEN = [
    Broken(
        "an action missing",
        "prod-models",
        lambda it: without(
            statement(policy(it, BUILDER), "s3:AbortMultipartUpload"), "s3:AbortMultipartUpload"
        ),
        missing,
        "lacks s3:AbortMultipartUpload on",
    ),
    Broken(
        "an action misspelt",
        "prod-text",
        lambda it: statement(policy(it, ENDPOINT), "ecr:GetAuth").update(
            Action="ecr:GetAuthorisationToken"
        ),
        missing,
        "lacks ecr:GetAuthorizationToken on *",
    ),
    Broken(
        "a resource too narrow: the bucket for its objects",
        "prod-models",
        lambda it: statement(policy(it, START), "s3:GetObject").update(
            Resource={"Fn::GetAtt": ["ModelsBucket970C6ADA", "Arn"]}
        ),
        missing,
        "lacks s3:GetObject on arn:aws:s3:::prod-models-modelsbucket970c6ada-example12345/*.json",
    ),
    Broken(
        "a name where an ARN belongs",
        "prod-models",
        lambda it: statement(policy(it, "BuilderPollRole"), "codebuild:").update(
            Resource={"Ref": "BuilderProject42795FEE"}
        ),
        missing,
        "lacks codebuild:BatchGetBuilds on arn:aws:codebuild",
    ),
    Broken(
        "another endpoint's prefix",
        "prod-text",
        lambda it: statement(policy(it, ENDPOINT), "s3:ListBucket")["Condition"].update(
            StringLike={"s3:prefix": ["vision/*"]}
        ),
        missing,
        "lacks s3:ListBucket on",
    ),
    Broken(
        "a condition that never holds",
        "prod-models",
        lambda it: statement(policy(it, BUILDER), "codebuild:StartBuild")["Condition"].update(
            StringEquals={"codebuild:environment.image": "nvcr.io/nvidia/tensorrt:*"}
        ),
        missing,
        "lacks codebuild:StartBuild on",
    ),
    Broken(
        "a condition on what the request does not have",
        "prod-models",
        lambda it: statement(policy(it, START), "kms:Decrypt").update(
            Condition={"StringEquals": {"kms:ViaService": "s3.eu-west-1.amazonaws.com"}}
        ),
        missing,
        "lacks kms:Decrypt on arn:aws:kms:us-east-1:111122223333:key/",
    ),
    Broken(
        "a key policy without the account",
        "prod-models",
        lambda it: statement(named(it, "ModelsKey", "AWS::KMS::Key"), "kms:*").update(
            Principal={"AWS": "arn:aws:iam::444455556666:root"}
        ),
        missing,
        "prod-text.EndpointRoleB9AA434A lacks kms:Decrypt",
    ),
    Broken(
        "a key policy without CloudWatch",
        "prod-models",
        lambda it: statement(named(it, "AlarmsKey", "AWS::KMS::Key"), "kms:Decrypt").update(
            Principal={"Service": "events.amazonaws.com"}
        ),
        missing,
        "alarms lacks kms:Decrypt",
    ),
    Broken(
        "a bucket that denies everybody",
        "prod-models",
        lambda it: statement(named(it, "ModelsBucketPolicy", "AWS::S3::BucketPolicy"), "s3:*").pop(
            "Condition"
        ),
        missing,
        "prod-text.EndpointRoleB9AA434A lacks s3:GetObject",
    ),
    Broken(
        "a role that is gone",
        "prod-models",
        lambda it: it.pop(next(name for name in it if name.startswith("UpdateChecksOnEventRole"))),
        missing,
        "there is no role UpdateChecksOnEventRole",
    ),
    Broken(
        "a wildcard too many in an action",
        "prod-text",
        lambda it: statement(policy(it, ENDPOINT), "s3:GetObject").update(Action="s3:Get*"),
        beyond,
        "prod-text.EndpointRoleB9AA434A may s3:Get* on",
    ),
    Broken(
        "a wildcard too many in a resource",
        "prod-text",
        lambda it: statement(policy(it, ENDPOINT), "logs:PutLogEvents").update(
            Resource="arn:aws:logs:us-east-1:111122223333:log-group:*"
        ),
        beyond,
        "may logs:PutLogEvents on arn:aws:logs:us-east-1:111122223333:log-group:*, and no row",
    ),
    Broken(
        "a condition less",
        "prod-models",
        lambda it: statement(policy(it, BUILDER), "codebuild:StartBuild")["Condition"]["Null"].pop(
            "codebuild:serviceRole"
        ),
        beyond,
        "may codebuild:StartBuild on",
    ),
    Broken(
        "a condition with a value more",
        "prod-text",
        lambda it: statement(policy(it, ENDPOINT), "s3:ListBucket")["Condition"].update(
            StringLike={"s3:prefix": ["text/*", "vision/*"]}
        ),
        beyond,
        "may s3:ListBucket on",
    ),
    Broken(
        "all actions but one",
        "prod-models",
        lambda it: (
            statement(policy(it, START), "codebuild:").update(
                {"Action": None, "NotAction": "iam:*", "Sid": "AlmostAll"}
            )
            or statement(policy(it, START), "None").pop("Action")
        ),
        beyond,
        "allows all but what it names: AlmostAll",
    ),
    Broken(
        "a policy of AWS's",
        "prod-models",
        lambda it: named(it, START, "AWS::IAM::Role")["Properties"].update(
            ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"]
        ),
        beyond,
        "has policies of AWS's",
    ),
    Broken(
        "a policy inside its role",
        "prod-models",
        lambda it: named(it, START, "AWS::IAM::Role")["Properties"].update(
            Policies=[
                {
                    "PolicyName": "More",
                    "PolicyDocument": {
                        "Statement": [{"Effect": "Allow", "Action": "iam:*", "Resource": "*"}]
                    },
                }
            ]
        ),
        beyond,
        "may iam:* on *",
    ),
    Broken(
        "a role that another service may assume too",
        "prod-text",
        lambda it: named(it, ENDPOINT, "AWS::IAM::Role")["Properties"]["AssumeRolePolicyDocument"][
            "Statement"
        ][0].update(Principal={"Service": ["sagemaker.amazonaws.com", "ec2.amazonaws.com"]}),
        beyond,
        "trusts ['ec2.amazonaws.com', 'sagemaker.amazonaws.com']",
    ),
    Broken(
        "a role that nobody knows",
        "prod-models",
        lambda it: it.update(Another=named(it, START, "AWS::IAM::Role")),
        beyond,
        "prod-models.Another is in no file of the ledger",
    ),
    Broken(
        "a bucket for everybody",
        "prod-models",
        lambda it: named(it, "ModelsBucketPolicy", "AWS::S3::BucketPolicy")["Properties"][
            "PolicyDocument"
        ]["Statement"].append(
            {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
        ),
        beyond,
        "lets * in, which is in no file of the ledger",
    ),
    Broken(
        "a topic that any alarm of AWS may tell",
        "prod-models",
        lambda it: (
            statement(named(it, "AlarmsTopicPolicy", "AWS::SNS::TopicPolicy"), "sns:Publish")
            and named(it, "AlarmsTopicPolicy", "AWS::SNS::TopicPolicy")["Properties"][
                "PolicyDocument"
            ]["Statement"][-1].pop("Condition")
        ),
        beyond,
        "may sns:Publish on",
    ),
    Broken(
        "a permission that is not a policy",
        "prod-models",
        lambda it: it.update(
            Anybody={"Type": "AWS::Lambda::Permission", "Properties": {"Principal": "*"}}
        ),
        beyond,
        "prod-models.Anybody is a AWS::Lambda::Permission",
    ),
    Broken(
        "a deploy role that takes another stage's archives",
        "prod-delivery",
        lambda it: statement(policy(it, "Deploy"), "s3:ListBucket").update(
            Resource="arn:aws:s3:::*-models-modelsbucket*"
        ),
        beyond,
        "may s3:ListBucket on arn:aws:s3:::*-models-modelsbucket*",
    ),
    Broken(
        "a deploy role for buckets that are called otherwise",
        "prod-delivery",
        lambda it: statement(policy(it, "Deploy"), "s3:ListBucket").update(
            Resource="arn:aws:s3:::prod-models-bucket*"
        ),
        missing,
        "lacks s3:ListBucket on arn:aws:s3:::prod-models-modelsbucket970c6ada-example12345",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda it: it.what)
def test_a_broken_policy_is_seen(broken: Broken, delivered: Stacks) -> None:
    given = copy.deepcopy(delivered)
    broken.change(given[broken.stack]["Resources"])
    assert broken.told in "\n".join(broken.check(site("prod", given, source_stage=FROM)))
