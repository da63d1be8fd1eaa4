"""Every stage's policies allow what the ledger needs, and nothing else; each gap is seen."""

import copy
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template

import platform_facts
from release.permissions import principals
from stacks.delivery_stack import DeliveryStack
from stages import StageConfig, load_stage
from stages.schema.delivery import DeliveryConfig
from tests.permission_names import Place
from tests.synth.api.deployed import Deployed
from tests.synth.conftest import CONTEXT, Templates
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE, every_stage
from tests.synth.permissions import Site, beyond, every, missing, own_policy
from tests.synth.statements import lets_role

Stacks = dict[str, dict[str, Any]]
Resources = dict[str, dict[str, Any]]


def site(settings: StageConfig, name: str, templates: Stacks) -> Site:
    region = platform_facts.region(settings.region)
    deployed = Deployed(templates, region=region.name, account=settings.account or ACCOUNT)
    sources = {
        each.id.partition(".")[2][:7]: deployed.value(
            each.properties["Source"]["Location"], each.stack
        )
        for each in deployed.of("AWS::CodeBuild::Project")
    }
    mirror = next(iter(settings.gpu_build_images.values()), "*")
    host, _, repository = mirror.partition("@")[0].partition("/")
    promotes_from = settings.delivery.promotes_from if settings.delivery else None
    place = Place(
        partition=deployed.partition,
        suffix=region.dns_suffix,
        region=region.name,
        account=deployed.account,
        stage=name,
        source_stage=promotes_from or "*",
        registry=str(region.account(platform_facts.release(settings.release))),
        builder_source=sources.get("Builder", "*").rpartition("/")[2],
        mirror=mirror,
        mirror_repository=f"{host[:12]}:repository/{repository}",
        engines_source=sources.get("Engines", "*").rpartition("/")[2],
    )
    return Site(deployed, place)


@pytest.fixture(scope="module")
def delivered(templates: Templates) -> tuple[StageConfig, Stacks]:
    """Production with a delivery that promotes."""
    delivery = DeliveryConfig(repository="octo-org/octo-repo", promotes_from="dev")
    stack = DeliveryStack(
        App(context=CONTEXT),
        "prod-delivery",
        stage_name="prod",
        delivery=delivery,
        env=Environment(account=ACCOUNT, region="us-east-1"),
    )
    settings = load_stage("prod").model_copy(update={"delivery": delivery})
    made = {stack.stack_name: dict(Template.from_stack(stack).to_json())}
    return settings, templates("prod") | made


def test_shipped_stage_matches_the_ledger(stage: str, templates: Templates) -> None:
    values = site(load_stage(stage), stage, templates(stage))
    assert list(missing(values)) == []
    assert list(beyond(values)) == []


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_generated_stage_matches_the_ledger(name: str, every_template: Templates) -> None:
    values = site(every_stage(name), name, every_template(name))
    assert list(missing(values)) == []
    assert list(beyond(values)) == []


def test_every_ledger_row_is_tested(templates: Templates, every_template: Templates) -> None:
    sites = [
        site(load_stage("local"), "local", templates("local")),
        *(
            site(every_stage(each), each, every_template(each))
            for each in ("all", "plain", "components")
        ),
    ]
    tried = {
        (each.principal.name, row.step) for one in sites for each in every(one) for row in each.rows
    }
    expected = {
        (principal.name, row.step)
        for principal in principals()
        if not principal.granted
        for row in principal.rows
    }
    assert expected - tried == set()


def statement(policy: dict[str, Any], action: str) -> dict[str, Any]:
    """The statement of a policy, of a resource's policy, or of a key's, that has an action."""
    properties = policy["Properties"]
    document = properties.get("PolicyDocument", properties.get("KeyPolicy"))
    result: dict[str, Any] = next(
        each for each in document["Statement"] if action in str(each["Action"])
    )
    return result


def named(resources: Resources, prefix: str, kind: str) -> dict[str, Any]:
    return next(
        each for id_, each in resources.items() if id_.startswith(prefix) and each["Type"] == kind
    )


def policy(resources: Resources, role: str) -> dict[str, Any]:
    """The policy of a role."""
    return named(resources, f"{role}DefaultPolicy", "AWS::IAM::Policy")


def without(statement: dict[str, Any], action: str) -> None:
    statement["Action"] = [each for each in statement["Action"] if each != action]


class Broken(NamedTuple):
    """What is done to a stack, and what is said of it."""

    what: str
    stack: str
    change: Callable[[Resources], object]
    check: Callable[[Site], Iterator[str]]
    message: str


BUILDER, ENDPOINT, WATCH = "BuilderProjectRole", "EndpointRole", "BuilderPollRole"

BROKEN = [
    Broken(
        "an action missing",
        "prod-models",
        lambda each: without(
            statement(policy(each, BUILDER), "s3:AbortMultipartUpload"), "s3:AbortMultipartUpload"
        ),
        missing,
        "lacks s3:AbortMultipartUpload on",
    ),
    Broken(
        "a resource too narrow: the bucket for its objects",
        "prod-models",
        lambda each: statement(policy(each, WATCH), "s3:GetObject").update(
            Resource={"Fn::GetAtt": ["ModelsBucket970C6ADA", "Arn"]}
        ),
        missing,
        "lacks s3:GetObject on arn:aws:s3:::prod-models-modelsbucket970c6ada-a1b2c3d4e5f6/*/cpu-",
    ),
    Broken(
        "a condition on what the request does not have",
        "prod-models",
        lambda each: statement(policy(each, WATCH), "kms:Decrypt").update(
            Condition={"StringEquals": {"kms:ViaService": "s3.eu-west-1.amazonaws.com"}}
        ),
        missing,
        "lacks kms:Decrypt on arn:aws:kms:us-east-1:111122223333:key/",
    ),
    Broken(
        "a key policy without the account",
        "prod-models",
        lambda each: statement(named(each, "ModelsKey", "AWS::KMS::Key"), "kms:*").update(
            Principal={"AWS": "arn:aws:iam::444455556666:root"}
        ),
        missing,
        "prod-text.EndpointRoleB9AA434A lacks kms:Decrypt",
    ),
    Broken(
        "a role that is gone",
        "prod-models",
        lambda each: each.pop(
            next(name for name in each if name.startswith("UpdateChecksOnEventRole"))
        ),
        missing,
        "there is no role UpdateChecksOnEventRole",
    ),
    Broken(
        "a wildcard too many in an action",
        "prod-text",
        lambda each: statement(policy(each, ENDPOINT), "s3:GetObject").update(Action="s3:Get*"),
        beyond,
        "prod-text.EndpointRoleB9AA434A may s3:Get* on",
    ),
    Broken(
        "a condition less",
        "prod-models",
        lambda each: statement(policy(each, BUILDER), "codebuild:StartBuild")["Condition"][
            "Null"
        ].pop("codebuild:serviceRole"),
        beyond,
        "may codebuild:StartBuild on",
    ),
    Broken(
        "all actions but one",
        "prod-models",
        lambda each: (
            statement(policy(each, WATCH), "codebuild:").update(
                {"Action": None, "NotAction": "iam:*", "Sid": "AlmostAll"}
            )
            or statement(policy(each, WATCH), "None").pop("Action")
        ),
        beyond,
        "allows all but what it names: AlmostAll",
    ),
    Broken(
        "a policy of AWS's",
        "prod-models",
        lambda each: named(each, WATCH, "AWS::IAM::Role")["Properties"].update(
            ManagedPolicyArns=["arn:aws:iam::aws:policy/AdministratorAccess"]
        ),
        beyond,
        "has policies of AWS's",
    ),
    Broken(
        "a role that another service may assume too",
        "prod-text",
        lambda each: named(each, ENDPOINT, "AWS::IAM::Role")["Properties"][
            "AssumeRolePolicyDocument"
        ]["Statement"][0].update(
            Principal={"Service": ["sagemaker.amazonaws.com", "ec2.amazonaws.com"]}
        ),
        beyond,
        "trusts ['ec2.amazonaws.com', 'sagemaker.amazonaws.com']",
    ),
    Broken(
        "a role that a service may assume for another account",
        "prod-text",
        lambda each: named(each, ENDPOINT, "AWS::IAM::Role")["Properties"][
            "AssumeRolePolicyDocument"
        ]["Statement"][0].pop("Condition"),
        beyond,
        "for any account: aws:SourceAccount",
    ),
    Broken(
        "a role that nobody knows",
        "prod-models",
        lambda each: each.update(Another=named(each, WATCH, "AWS::IAM::Role")),
        beyond,
        "prod-models.Another is in no file of the ledger",
    ),
    Broken(
        "a bucket for everybody",
        "prod-models",
        lambda each: named(each, "ModelsBucketPolicy", "AWS::S3::BucketPolicy")["Properties"][
            "PolicyDocument"
        ]["Statement"].append(
            {"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject", "Resource": "*"}
        ),
        beyond,
        "lets * in, which is in no file of the ledger",
    ),
    Broken(
        "a permission that is not a policy",
        "prod-models",
        lambda each: each.update(
            Anybody={"Type": "AWS::Lambda::Permission", "Properties": {"Principal": "*"}}
        ),
        beyond,
        "prod-models.Anybody is a AWS::Lambda::Permission",
    ),
    Broken(
        "a deploy role that takes another stage's archives",
        "prod-delivery",
        lambda each: statement(policy(each, "Deploy"), "s3:ListBucket").update(
            Resource="arn:aws:s3:::*-models-modelsbucket*"
        ),
        beyond,
        "may s3:ListBucket on arn:aws:s3:::*-models-modelsbucket*",
    ),
]


@pytest.mark.parametrize("broken", BROKEN, ids=lambda value: value.what)
def test_changed_policy_is_reported(broken: Broken, delivered: tuple[StageConfig, Stacks]) -> None:
    settings, templates = delivered
    values = copy.deepcopy(templates)
    broken.change(values[broken.stack]["Resources"])
    assert broken.message in "\n".join(broken.check(site(settings, "prod", values)))


ONCE = {"s3:if-none-match": "*", "s3:ObjectCreationOperation": "true"}
AGAIN = {"s3:ObjectCreationOperation": "true"}
PART = {"s3:ObjectCreationOperation": "false"}
DELIVERED = "text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz"


@pytest.mark.parametrize(
    ("who", "key", "request_has", "may"),
    [
        ("Person", DELIVERED, ONCE, False),
        ("Person", DELIVERED, PART, False),
        ("Person", DELIVERED.replace(".tar.gz", ".json"), ONCE, False),
        ("Person", f"sources/{'d' * 64}.zip", ONCE, False),
        ("Person", "engines/job/result.json", ONCE, False),
        ("Person", "published/cuda-25.09-sm86/minilm-0123456789ab.tar.gz", ONCE, False),
        ("Person", "engine-jobs/job/raw/build/result.json", AGAIN, False),
        ("Person", "text/cuda-25.09-sm86/published/minilm-0123456789ab.tar.gz", ONCE, True),
        ("Person", "engine-jobs/job/claims/0001.json", ONCE, True),
        ("Person", "history/20261123T000000.000000Z-a1b2c3d4.json", ONCE, True),
        ("Person", "history/20261123T000000.000000Z-a1b2c3d4.json", AGAIN, False),
        ("BuilderProjectRole", DELIVERED, ONCE, True),
        ("BuilderProjectRole", DELIVERED, PART, True),
        ("BuilderProjectRole", DELIVERED, AGAIN, False),
        ("BuilderProjectRole", "engine-jobs/job/raw/build/result.json", AGAIN, False),
        ("BuilderProjectRole", "engines/job/a1b2", AGAIN, True),
        ("EnginesProjectRole", "engine-jobs/job/raw/build/result.json", AGAIN, True),
        ("EnginesProjectRole", DELIVERED, ONCE, False),
        ("all-delivery-Deploy", DELIVERED, ONCE, True),
        ("all-delivery-Deploy", DELIVERED, AGAIN, False),
        ("plain-delivery-Deploy", DELIVERED, ONCE, False),
    ],
)
def test_bucket_policy_decides_who_may_write(
    who: str, key: str, request_has: dict[str, str], may: bool, every_template: Templates
) -> None:
    """Each has a role that may write everything: the bucket's own policy decides."""
    values = site(every_stage("all"), "all", every_template("all"))
    roles = {each.id: values.deployed.arn(each) for each in values.deployed.of("AWS::IAM::Role")}
    made = [arn for name, arn in roles.items() if who in name]
    arn = made[0] if made else f"arn:aws:iam::{values.deployed.account}:role/{who}A1B2"
    buckets = values.deployed.of("AWS::S3::Bucket")
    (bucket,) = (values.deployed.arn(each) for each in buckets if ".ModelsBucket" in each.id)
    everything = [{"Effect": "Allow", "Action": "s3:*", "Resource": "*"}]
    own = own_policy(values, bucket)
    result = lets_role(
        arn, everything, "s3:PutObject", resource=f"{bucket}/{key}", own=own, context=request_has
    )
    assert result is may
