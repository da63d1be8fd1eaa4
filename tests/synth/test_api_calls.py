"""Validation of the API requests of a deploy, and invalid requests for each rule."""

import copy
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from aws_cdk import TimeZone
from aws_cdk import aws_s3 as s3
from aws_cdk.aws_applicationautoscaling import Schedule

from stages import load_stage
from tests.synth.api import policy_rules
from tests.synth.api.calls import CREATIONS, FURTHER_CALLS, Calls, calls
from tests.synth.api.deployed import Deployed
from tests.synth.api.models import model_violations, request_shape
from tests.synth.api.scaling_rules import scaling
from tests.synth.conftest import CONTEXT, Templates
from tests.synth.endpoints import Scene
from tests.synth.every_stage import ACCOUNT, EVERY_STAGE, every_stage
from triton_sagemaker import (
    DataCapture,
    ServerOptions,
)

Rule = Callable[[Calls], Iterator[str]]
Resources = dict[str, dict[str, Any]]

RULES: list[Rule] = [
    model_violations,
    scaling,
    *policy_rules.RULES,
]


def violations(
    templates: dict[str, dict[str, Any]], *, region: str, rules: list[Rule]
) -> list[str]:
    """Return the violations of rules by the requests of a deploy."""
    requests = calls(Deployed(templates, region=region, account=ACCOUNT), request_shape)
    return [line for rule in rules for line in rule(requests)]


def test_shipped_stages_make_valid_requests(stage: str, templates: Templates) -> None:
    assert violations(templates(stage), region=load_stage(stage).region, rules=RULES) == []


@pytest.mark.parametrize("name", EVERY_STAGE)
def test_generated_stages_make_valid_requests(name: str, every_template: Templates) -> None:
    assert violations(every_template(name), region=every_stage(name).region, rules=RULES) == []


@pytest.fixture(scope="module")
def library_template() -> dict[str, dict[str, Any]]:
    """Return the template of an endpoint with options of the library that no stage uses."""
    scene = Scene(CONTEXT)
    records = s3.Bucket.from_bucket_name(scene.stack, "Records", "records")
    variant = scene.variant(
        "ml.c5.xlarge",
        container=scene.container(
            options=ServerOptions(thread_count=4, model_namespacing=False),
            environment={"OWN": "value"},
        ),
        hosting=scene.multi_model(cache_models=False),
    )
    endpoint = scene.endpoint(
        variant,
        encryption_key=scene.bucket.key,
        data_capture=DataCapture(bucket=records, prefix="captured"),
    )
    scaling = endpoint.instance_production_variants[0].auto_scale_instance_count(max_capacity=3)
    scaling.scale_on_invocations("Invocations", max_requests_per_second=2)
    scaling.scale_on_schedule(
        "morning",
        schedule=Schedule.cron(hour="8", minute="0"),
        min_capacity=2,
        max_capacity=4,
        time_zone=TimeZone.EUROPE_BERLIN,
    )
    endpoint.monitor()
    return {"Stack": dict(scene.template().to_json())}


def test_construct_library_makes_valid_requests(
    library_template: dict[str, dict[str, Any]],
) -> None:
    assert violations(library_template, region="us-east-1", rules=RULES) == []


def test_every_known_resource_type_is_used(
    library_template: dict[str, dict[str, Any]], every_template: Templates
) -> None:
    stacks = [library_template, *map(every_template, EVERY_STAGE)]
    kinds = {
        resource["Type"]
        for templates in stacks
        for template in templates.values()
        for resource in template["Resources"].values()
    }
    assert CREATIONS.keys() | FURTHER_CALLS.keys() == {
        kind for kind in kinds if not kind.startswith("Custom::")
    }


def first_properties(resources: Resources, kind: str, name: str = "") -> dict[str, Any]:
    """Return the properties of the first resource of a type whose logical ID contains `name`."""
    result: dict[str, Any] = next(
        resource for id_, resource in resources.items() if resource["Type"] == kind and name in id_
    )["Properties"]
    return result


def container(resources: Resources) -> dict[str, Any]:
    result: dict[str, Any] = first_properties(resources, "AWS::SageMaker::Model")[
        "PrimaryContainer"
    ]
    return result


def alarm(resources: Resources) -> dict[str, Any]:
    return first_properties(resources, "AWS::CloudWatch::Alarm", "Monitoring")


def statement(resources: Resources) -> dict[str, Any]:
    """Return the first statement of the endpoint role."""
    document = first_properties(resources, "AWS::IAM::Policy", "EndpointRole")["PolicyDocument"]
    result: dict[str, Any] = document["Statement"][0]
    return result


Change = Callable[[Resources], object]
TARGET = "AWS::ApplicationAutoScaling::ScalableTarget"
SCALING_POLICY = "AWS::ApplicationAutoScaling::ScalingPolicy"

INVALID_REQUESTS: dict[str, tuple[Rule, str, Change, str]] = {
    "unknown parameter": (
        model_violations,
        "prod-text",
        lambda resources: container(resources).update(Cpu=2),
        "CreateModel has no PrimaryContainer.Cpu",
    ),
    "more topics than an alarm can notify": (
        model_violations,
        "prod-text",
        lambda resources: alarm(resources).update(AlarmActions=["arn:aws:sns:us-east-1:1:t"] * 6),
        "Member must have length less than or equal to 5",
    ),
    "scaling of an unknown variant": (
        scaling,
        "prod-text",
        lambda resources: first_properties(resources, TARGET).update(
            ResourceId="endpoint/prod-text/variant/Other"
        ),
        "no resource endpoint/prod-text/variant/Other",
    ),
    "two scaling policies with one metric": (
        scaling,
        "prod-text",
        lambda resources: first_properties(resources, SCALING_POLICY, "Gpu").update(
            first_properties(resources, SCALING_POLICY, "Invocations")
        ),
        "has 2 policies for SageMakerVariantInvocationsPerInstance",
    ),
    "too large inline policies": (
        policy_rules.sizes,
        "prod-text",
        lambda resources: statement(resources).update(Resource=["arn:aws:s3:::" + "b" * 63] * 140),
        "inline policies of 13",
    ),
    "Sid with a space": (
        policy_rules.grammar,
        "prod-text",
        lambda resources: statement(resources).update(Sid="Write logs"),
        "a Sid is not alphanumeric or not unique",
    ),
    "ARN of another partition": (
        policy_rules.partitions,
        "prod-text",
        lambda resources: alarm(resources).update(AlarmActions=["arn:aws-cn:sns:cn-north-1:1:t"]),
        "arn:aws-cn: in aws",
    ),
}


@pytest.mark.parametrize("case", INVALID_REQUESTS)
def test_invalid_request_is_reported(case: str, templates: Templates) -> None:
    rule, stack, change, message = INVALID_REQUESTS[case]
    changed_templates = copy.deepcopy(templates("prod"))
    change(changed_templates[stack]["Resources"])
    assert message in "\n".join(violations(changed_templates, region="us-east-1", rules=[rule]))


def test_every_rule_rejects_a_request() -> None:
    assert {case[0] for case in INVALID_REQUESTS.values()} == set(RULES)


def test_arn_of_another_partition_is_reported(every_template: Templates) -> None:
    china = copy.deepcopy(every_template("china"))
    policy = first_properties(china["china-delivery"]["Resources"], "AWS::IAM::Policy", "Deploy")
    text = json.dumps(policy["PolicyDocument"])
    assert "s3.cn-north-1.amazonaws.com.cn" in text
    policy["PolicyDocument"] = json.loads(text.replace(".amazonaws.com.cn", ".amazonaws.com"))
    (messages,) = violations(china, region="cn-north-1", rules=[policy_rules.partitions])
    assert ".cn-north-1.amazonaws.com in aws-cn" in messages
