"""DeliveryStack: trust policies of its roles. test_permissions.py tests their permissions."""

import json
from typing import Any

import pytest
from aws_cdk import App, Environment
from aws_cdk.assertions import Template

from stacks.delivery_stack import DeliveryStack
from stages.schema.delivery import DeliveryConfig
from stages.schema.existing import ExistingConfig
from tests.synth.conftest import CONTEXT
from tests.synth.endpoints import properties_of

ACCOUNT, REGION = "123456789012", "eu-west-1"
ISSUER = "token.actions.githubusercontent.com"
PROVIDER = "AWS::IAM::OIDCProvider"


def template(**delivery: Any) -> Template:
    stack = DeliveryStack(
        App(context=CONTEXT),
        "prod-delivery",
        stage_name="prod",
        existing=ExistingConfig(),
        delivery=DeliveryConfig(**{"repository": "octo-org/octo-repo", **delivery}),
        env=Environment(account=ACCOUNT, region=REGION),
    )
    return Template.from_stack(stack)


def trust_statement(template: Template, role: str) -> dict[str, Any]:
    (properties,) = properties_of(template, "AWS::IAM::Role", role)
    (statement,) = properties["AssumeRolePolicyDocument"]["Statement"]
    return dict(statement)


@pytest.mark.parametrize(
    ("name", "subjects"),
    [
        ("Review", ["repo:octo-org/octo-repo:ref:refs/heads/main"]),
        ("Deploy", ["repo:octo-org/octo-repo:environment:prod"]),
    ],
)
def test_role_trusts_only_tokens_of_the_repository(name: str, subjects: list[str]) -> None:
    delivery_template = template()
    (provider,) = delivery_template.find_resources(PROVIDER)
    statement = trust_statement(delivery_template, name)
    assert statement.pop("Principal") == {"Federated": {"Ref": provider}}
    assert statement["Condition"]["StringEquals"].pop(f"{ISSUER}:sub") == subjects
    assert statement == {
        "Action": "sts:AssumeRoleWithWebIdentity",
        "Condition": {"StringEquals": {f"{ISSUER}:aud": "sts.amazonaws.com"}},
        "Effect": "Allow",
    }


def test_role_sessions_are_limited() -> None:
    roles = properties_of(template(), "AWS::IAM::Role")
    sessions = [role["MaxSessionDuration"] for role in roles]
    assert sorted(sessions) == [3600, 6 * 3600]


def test_oidc_provider_is_that_of_github() -> None:
    delivery_template = template()
    (provider,) = delivery_template.find_resources(PROVIDER).values()
    assert provider["Properties"] == {
        "ClientIdList": ["sts.amazonaws.com"],
        "Url": f"https://{ISSUER}",
    }
    kinds = {resource["Type"] for resource in delivery_template.to_json()["Resources"].values()}
    assert kinds == {PROVIDER, "AWS::IAM::Role", "AWS::IAM::Policy"}


def test_existing_oidc_provider_is_used() -> None:
    delivery_template = template(provider_exists=True)
    delivery_template.resource_count_is(PROVIDER, 0)
    principal = json.dumps(trust_statement(delivery_template, "Deploy")["Principal"])
    assert f":iam::{ACCOUNT}:oidc-provider/{ISSUER}" in principal
