"""Questions without a charge; the session removes the roles, models and configurations.

Sources: "The endpoint must be deleted in order to stop incurring charges", while models and
configurations only describe it (SageMaker API reference, DeleteEndpointConfig). IAM is "offered at
no additional charge" (its product page); CloudFormation charges only for third-party resources
(pricing page, quoted in infracost/infracost#49); Lambda's free tier has a million requests a month.
"""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from tests.aws.ladder import ENDPOINT, INSTANCE_TYPE, REGION, STAGE, Ladder, wait_for

Answer = Callable[[object], None]
MAX_TEMPLATE_BYTES = 51_200
"""Maximum size of a template in a request (CloudFormation API reference, ValidateTemplate)."""
ROLE_SECONDS = 60
"""Time in which a service can assume a new role: our choice."""
VARIANT = {"VariantName": "AllTraffic", "InitialInstanceCount": 1}
ROUTED = {"RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"}}
FREE = f"{STAGE}-free"


def document(**statement: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": {"Effect": "Allow", **statement}})


def create_role(ladder: Ladder, name: str, service: str, account: str | None = None) -> str:
    """Create a role that a service assumes for resources of an account; return its ARN."""
    condition = {"Condition": {"StringEquals": {"aws:SourceAccount": account}}} if account else {}
    trust = document(Principal={"Service": service}, Action="sts:AssumeRole", **condition)
    role = ladder.client("iam").create_role(RoleName=name, AssumeRolePolicyDocument=trust)
    return str(role["Role"]["Arn"])


@pytest.mark.aws("free", "creates two roles and a function, and invokes it")
def test_lambda_sends_the_source_account_when_it_assumes_a_role(
    ladder: Ladder, answer: Answer, emulated: bool
) -> None:
    names = {f"{STAGE}-own": ladder.account, f"{STAGE}-other": "111122223333"}
    roles = {
        name: create_role(ladder, name, "lambda.amazonaws.com", account)
        for name, account in names.items()
    }
    content, functions = io.BytesIO(), ladder.client("lambda")
    with zipfile.ZipFile(content, "w") as archive:
        archive.writestr("index.py", "def handler(event, context):\n    return 'ran'\n")

    def refusal(name: str) -> str:
        """Create the function; return Lambda's refusal, empty if it accepted the role."""
        try:
            functions.create_function(
                FunctionName=name,
                Role=roles[name],
                Runtime="python3.13",
                Handler="index.handler",
                Code={"ZipFile": content.getvalue()},
            )
        except ClientError as error:
            return str(error)
        return ""

    own, other = names
    last = [""]

    def accepted() -> bool:
        last[0] = refusal(own)
        return not last[0]

    assert wait_for(accepted, ROLE_SECONDS), last[0]
    functions.get_waiter("function_active_v2").wait(FunctionName=own)
    result = functions.invoke(FunctionName=own)
    assert json.loads(result["Payload"].read()) == "ran"
    if emulated:
        answer("accepted, and so is the role of another account: trust is not evaluated")
    else:  # it is as old as the role that works: its refusal is not a delay
        assert "cannot be assumed" in refusal(other)
        answer("the role of the own account is assumed, that of another account is refused")


@pytest.mark.aws("free", "has CloudFormation validate the templates")
def test_templates_are_valid(ladder: Ladder, templates: dict[str, Any], answer: Answer) -> None:
    sizes = {}
    for name, template in templates.items():
        body = json.dumps(template, separators=(",", ":"))
        if len(body) <= MAX_TEMPLATE_BYTES:
            ladder.client("cloudformation").validate_template(TemplateBody=body)
            sizes[name] = len(body)
    assert ENDPOINT in sizes
    answer(", ".join(f"{name}: {size} bytes" for name, size in sizes.items()))


@pytest.mark.aws("free", "asks the account what a deploy needs, by `tritonsm preflight`")
def test_preflight_knows_and_refuses_nothing(ladder: Ladder, answer: Answer) -> None:
    output = ladder.tritonsm("preflight", STAGE, "--json", code=None)
    findings = json.loads(output)["findings"]
    bad = [finding for finding in findings if finding["verdict"] != "ok"]
    assert not bad, "; ".join(f"{row['subject']}: {row['message']}: {row['fix']}" for row in bad)
    answer("; ".join(f"{row['subject']}: {row['message']}" for row in findings))


@pytest.fixture(scope="module")
def model(ladder: Ladder, templates: dict[str, Any]) -> str:
    """A multi-model Model with a new role, whose prefix is empty; its name."""
    role = create_role(ladder, FREE, "sagemaker.amazonaws.com")
    actions = ["ecr:*", "s3:GetObject", "s3:ListBucket"]
    policy = document(Action=actions, Resource="*")
    ladder.client("iam").put_role_policy(RoleName=FREE, PolicyName=FREE, PolicyDocument=policy)
    resources = templates[ENDPOINT]["Resources"].values()
    (properties,) = (r["Properties"] for r in resources if r["Type"] == "AWS::SageMaker::Model")
    bucket = f"cdk-hnb659fds-assets-{ladder.account}-{REGION}"  # of `cdk bootstrap`
    container = {
        "Image": properties["PrimaryContainer"]["Image"],
        "Mode": "MultiModel",
        "ModelDataUrl": f"s3://{bucket}/{STAGE}/",
    }
    errors = []

    def created() -> bool:
        try:
            ladder.client("sagemaker").create_model(
                ModelName=FREE, ExecutionRoleArn=role, PrimaryContainer=container
            )
        except ClientError as error:
            errors.append(str(error))
            return False
        return True

    assert wait_for(created, ROLE_SECONDS), errors[-1]
    return FREE


def create_config(ladder: Ladder, name: str, variant: dict[str, Any], **options: Any) -> Any:
    """Create a configuration of one variant; return its description."""
    sagemaker, name = ladder.client("sagemaker"), f"{FREE}-{name}"
    variants = [{**VARIANT, **variant}]
    sagemaker.create_endpoint_config(
        EndpointConfigName=name, ProductionVariants=variants, **options
    )
    return sagemaker.describe_endpoint_config(EndpointConfigName=name)


@pytest.mark.aws("free", "creates a model and a configuration without MetricsConfig")
def test_create_model_accepts_image_prefix_and_role(
    ladder: Ladder, model: str, answer: Answer
) -> None:
    variant = {"ModelName": model, "InstanceType": INSTANCE_TYPE}
    metrics = create_config(ladder, "plain", variant).get("MetricsConfig", {})
    detailed = metrics.get("EnableDetailedObservability")
    answer(f"accepted; detailed observability by default: {detailed}")
    assert detailed is True


@pytest.mark.aws("free", "creates a configuration with a routing strategy")
def test_many_models_are_routed_by_outstanding_requests(ladder: Ladder, model: str) -> None:
    variant = {"ModelName": model, "InstanceType": INSTANCE_TYPE, **ROUTED}
    (routed,) = create_config(ladder, "routed", variant)["ProductionVariants"]
    assert routed["RoutingConfig"] == ROUTED["RoutingConfig"]


@pytest.mark.aws("free", "creates a configuration with two instance types for a multi-model Model")
def test_multi_model_containers_have_no_pools(
    ladder: Ladder, model: str, answer: Answer, emulated: bool
) -> None:
    if emulated:
        pytest.skip("the emulator refuses pools of multi-model containers by its own choice")
    types = enumerate((INSTANCE_TYPE, "ml.m5.xlarge"), start=1)
    pools = [{"InstanceType": name, "Priority": number} for number, name in types]
    with pytest.raises(ClientError) as refused:
        create_config(ladder, "pools", {"ModelName": model, "InstancePools": pools})
    answer(refused.value)
    assert refused.value.response["Error"]["Code"] == "ValidationException"


@pytest.mark.aws("free", "creates a configuration for inference components without an instance")
def test_components_may_scale_to_zero_instances(ladder: Ladder, model: str) -> None:
    role = ladder.client("iam").get_role(RoleName=model)["Role"]["Arn"]
    scaling = {"Status": "ENABLED", "MinInstanceCount": 0, "MaxInstanceCount": 1}
    variant = {"InstanceType": INSTANCE_TYPE, "ManagedInstanceScaling": scaling, **ROUTED}
    description = create_config(ladder, "zero", variant, ExecutionRoleArn=role)
    (created,) = description["ProductionVariants"]
    assert created["ManagedInstanceScaling"]["MinInstanceCount"] == 0
