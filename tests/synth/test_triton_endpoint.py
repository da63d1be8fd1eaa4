"""TritonEndpoint: models, configuration, endpoint, updates and access."""

import json
from typing import Any

import pytest
from aws_cdk import App, Duration, RemovalPolicy, Stack
from aws_cdk import aws_apigateway as apigateway
from aws_cdk import aws_ec2 as ec2
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_s3 as s3

from tests.synth.endpoints import Scene
from triton_sagemaker import (
    AllAtOnce,
    Canary,
    DataCapture,
    EndpointLog,
    Linear,
    PublishedMetrics,
    Rolling,
    TritonEndpoint,
)

MODEL, CONFIG, ENDPOINT = (
    f"AWS::SageMaker::{each}" for each in ("Model", "EndpointConfig", "Endpoint")
)


@pytest.fixture
def scene() -> Scene:
    return Scene()


# Hosting


def test_many_models_are_hosted_below_a_prefix_that_ends_in_a_slash(scene: Scene) -> None:
    scene.endpoint()
    container = scene.properties(MODEL)["PrimaryContainer"]
    assert container["Mode"] == "MultiModel"
    assert container["ModelDataUrl"]["Fn::Join"][1][-1] == "/test/"
    assert container["MultiModelConfig"] == {"ModelCacheSetting": "Enabled"}


def test_models_can_be_forgotten_after_each_invocation(scene: Scene) -> None:
    scene.endpoint(scene.variant(hosting=scene.multi_model(cache_models=False)))
    container = scene.properties(MODEL)["PrimaryContainer"]
    assert container["MultiModelConfig"] == {"ModelCacheSetting": "Disabled"}


def test_one_model_is_hosted_from_its_archive(scene: Scene) -> None:
    scene.endpoint(scene.variant(hosting=scene.single_model()))
    container = scene.properties(MODEL)["PrimaryContainer"]
    assert container["Mode"] == "SingleModel"
    assert container["ModelDataUrl"]["Fn::Join"][1][-1] == "/test/m.tar.gz"
    assert "SAGEMAKER_TRITON_DEFAULT_MODEL_NAME" not in container["Environment"]


def test_one_ensemble_is_named_to_serve(scene: Scene) -> None:
    scene.endpoint(scene.variant(hosting=scene.single_model(default_model="minilm")))
    environment = scene.properties(MODEL)["PrimaryContainer"]["Environment"]
    assert environment["SAGEMAKER_TRITON_DEFAULT_MODEL_NAME"] == "minilm"


@pytest.mark.parametrize(("hosting", "mode"), [("multi_model", "live"), ("single_model", "ready")])
def test_ping_mode_is_always_set_because_serve_does_not_export_it(
    scene: Scene, hosting: str, mode: str
) -> None:
    scene.endpoint(scene.variant(hosting=getattr(scene, hosting)()))
    environment = scene.properties(MODEL)["PrimaryContainer"]["Environment"]
    assert environment["SAGEMAKER_TRITON_PING_MODE"] == mode
    assert environment["SAGEMAKER_TRITON_OVERRIDE_PING_MODE"] == mode


def test_variants_share_the_traffic_by_weight_and_have_a_model_each(scene: Scene) -> None:
    scene.endpoint(
        scene.variant(variant_name="A", initial_variant_weight=9),
        scene.variant(variant_name="B", initial_variant_weight=1),
    )
    scene.template().resource_count_is(MODEL, 2)
    variants = scene.properties(CONFIG)["ProductionVariants"]
    assert [(variant["VariantName"], variant["InitialVariantWeight"]) for variant in variants] == [
        ("A", 9),
        ("B", 1),
    ]
    assert len({json.dumps(variant["ModelName"]) for variant in variants}) == 2


def test_models_and_config_have_no_names_and_the_endpoint_keeps_its_own(scene: Scene) -> None:
    scene.endpoint()
    assert "ModelName" not in scene.properties(MODEL)
    assert "EndpointConfigName" not in scene.properties(CONFIG)
    assert scene.properties(ENDPOINT)["EndpointName"] == "under-test"


def test_models_wait_for_the_role_s_rights(scene: Scene) -> None:
    scene.endpoint()
    resources = scene.template().to_json()["Resources"]
    (model,) = (resource for resource in resources.values() if resource["Type"] == MODEL)
    assert "AWS::IAM::Policy" in {resources[name]["Type"] for name in model["DependsOn"]}


# Instances


def test_defaults_of_instances(scene: Scene) -> None:
    scene.endpoint()
    (variant,) = scene.properties(CONFIG)["ProductionVariants"]
    variant.pop("ModelName")
    assert variant == {
        "ContainerStartupHealthCheckTimeoutInSeconds": 600,
        "InferenceAmiVersion": "al2023-ami-sagemaker-inference-gpu-4-1",
        "InitialInstanceCount": 1,
        "InitialVariantWeight": 1,
        "InstanceType": "ml.g5.xlarge",
        "ModelDataDownloadTimeoutInSeconds": 600,
        "RoutingConfig": {"RoutingStrategy": "LEAST_OUTSTANDING_REQUESTS"},
        "VariantName": "AllTraffic",
    }


@pytest.mark.parametrize(
    ("instance_type", "tag"), [("ml.g5.xlarge", "25.09-py3"), ("ml.m5.xlarge", "25.09-py3-cpu")]
)
def test_the_stack_s_region_and_the_instance_type_decide_which_image_runs(
    instance_type: str, tag: str
) -> None:
    scene = Scene(region="eu-west-1")
    scene.endpoint(scene.variant(instance_type))
    image = scene.properties(MODEL)["PrimaryContainer"]["Image"]
    assert image.endswith(f".dkr.ecr.eu-west-1.amazonaws.com/sagemaker-tritonserver:{tag}")


# Updates


@pytest.mark.parametrize(
    ("update", "policy"),
    [
        (
            AllAtOnce(),
            {
                "BlueGreenUpdatePolicy": {
                    "MaximumExecutionTimeoutInSeconds": 2700,
                    "TerminationWaitInSeconds": 300,
                    "TrafficRoutingConfiguration": {
                        "Type": "ALL_AT_ONCE",
                        "WaitIntervalInSeconds": 0,
                    },
                }
            },
        ),
        (
            Canary(percent=20, wait=Duration.seconds(300)),
            {
                "BlueGreenUpdatePolicy": {
                    "MaximumExecutionTimeoutInSeconds": 3000,
                    "TerminationWaitInSeconds": 300,
                    "TrafficRoutingConfiguration": {
                        "CanarySize": {"Type": "CAPACITY_PERCENT", "Value": 20},
                        "Type": "CANARY",
                        "WaitIntervalInSeconds": 300,
                    },
                }
            },
        ),
        (
            Linear(percent=50, wait=Duration.seconds(30)),
            {
                "BlueGreenUpdatePolicy": {
                    "MaximumExecutionTimeoutInSeconds": 2730,
                    "TerminationWaitInSeconds": 300,
                    "TrafficRoutingConfiguration": {
                        "LinearStepSize": {"Type": "CAPACITY_PERCENT", "Value": 50},
                        "Type": "LINEAR",
                        "WaitIntervalInSeconds": 30,
                    },
                }
            },
        ),
        (
            Rolling(percent=25, wait=Duration.seconds(120)),
            {
                "RollingUpdatePolicy": {
                    "MaximumBatchSize": {"Type": "CAPACITY_PERCENT", "Value": 25},
                    "MaximumExecutionTimeoutInSeconds": 7 * 2520,  # of seven instances, one each
                    "WaitIntervalInSeconds": 120,
                }
            },
        ),
    ],
    ids=["all at once", "canary", "linear", "rolling"],
)
def test_update_policies(scene: Scene, update: Any, policy: dict[str, Any]) -> None:
    scene.endpoint(update=update)
    deployment = scene.properties(ENDPOINT)["DeploymentConfig"]
    assert {
        name: each for name, each in deployment.items() if name != "AutoRollbackConfiguration"
    } == (policy)


def test_old_instances_stay_for_a_while_in_which_an_alarm_can_give_them_the_traffic_again(
    scene: Scene,
) -> None:
    scene.endpoint()
    update = scene.properties(ENDPOINT)["DeploymentConfig"]["BlueGreenUpdatePolicy"]
    assert update["TerminationWaitInSeconds"] == 300


def test_updates_are_rolled_back_by_the_library_s_own_alarm_on_each_variant(scene: Scene) -> None:
    scene.endpoint(scene.variant(variant_name="A"), scene.variant(variant_name="B"))
    deployment = scene.properties(ENDPOINT)["DeploymentConfig"]
    named = [each["AlarmName"]["Ref"] for each in deployment["AutoRollbackConfiguration"]["Alarms"]]
    alarms = scene.template().find_resources("AWS::CloudWatch::Alarm")
    assert sorted(named) == sorted(alarms)
    dimensions = [
        dimension for alarm in alarms.values() for dimension in alarm["Properties"]["Dimensions"]
    ]
    variants = sorted(
        dimension["Value"] for dimension in dimensions if dimension["Name"] == "VariantName"
    )
    assert variants == ["A", "A", "B", "B"]


def test_only_an_update_s_new_instances_roll_it_back(scene: Scene) -> None:
    # Old ones that fail would else stop the update that mends them.
    scene.endpoint()
    (config,) = scene.template().find_resources(CONFIG)
    alarms = scene.template().find_resources("AWS::CloudWatch::Alarm").values()
    new = {
        "Name": "EndpointConfigName",
        "Value": {"Fn::GetAtt": [config, "EndpointConfigName"]},
    }
    assert len(alarms) == 2
    assert all(new in alarm["Properties"]["Dimensions"] for alarm in alarms)


def test_every_configuration_has_rollback_alarms_of_its_own(scene: Scene) -> None:
    # One that is changed keeps its state: what mends an endpoint would be rolled back by it.
    scene.endpoint(scene.variant(variant_name="A"))
    (config,) = scene.template().find_resources(CONFIG)
    names = [
        resource["Properties"]["AlarmName"]["Fn::Join"][1]
        for resource in scene.template().find_resources("AWS::CloudWatch::Alarm").values()
    ]
    assert sorted(text for text, _ in names) == [
        "under-test-A-ModelErrors-",
        "under-test-A-ServerErrors-",
    ]
    assert all(each == {"Fn::GetAtt": [config, "EndpointConfigName"]} for _, each in names)


@pytest.mark.parametrize(
    ("arguments", "threshold"), [({}, 0.2), ({"rollback_error_rate": 0.5}, 0.5)]
)
def test_containers_that_fail_requests_roll_an_update_back(
    scene: Scene, arguments: dict[str, float], threshold: float
) -> None:
    # Triton's own failures are 400, which no alarm on 5xx sees; a caller's mistakes are, too.
    scene.endpoint(**arguments)
    scene.template().has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {
            "DatapointsToAlarm": 2,
            "EvaluationPeriods": 3,
            "MetricName": "InvocationModelErrors",
            "Period": 60,
            "Statistic": "Average",
            "Threshold": threshold,
            "TreatMissingData": "notBreaching",
        },
    )


def test_every_twentieth_request_that_fails_for_a_minute_rolls_an_update_back(scene: Scene) -> None:
    scene.endpoint()
    scene.template().has_resource_properties(
        "AWS::CloudWatch::Alarm",
        {
            "ComparisonOperator": "GreaterThanOrEqualToThreshold",
            "EvaluationPeriods": 1,
            "MetricName": "Invocation5XXErrors",
            "Period": 60,
            "Statistic": "Average",
            "Threshold": 0.05,
            "TreatMissingData": "notBreaching",
        },
    )


def test_of_many_variants_the_alarms_that_see_most_roll_back(scene: Scene) -> None:
    # Two alarms of each of six variants are more than the ten that SageMaker takes.
    scene.endpoint(*(scene.variant(variant_name=f"V{n}") for n in range(6)))
    alarms = scene.template().find_resources("AWS::CloudWatch::Alarm").values()
    assert [alarm["Properties"]["MetricName"] for alarm in alarms] == ["InvocationModelErrors"] * 6
    deployment = scene.properties(ENDPOINT)["DeploymentConfig"]
    assert len(deployment["AutoRollbackConfiguration"]["Alarms"]) == 6


def test_a_deploy_keeps_the_count_that_scaling_chose_and_sets_the_template_s_weights(
    scene: Scene,
) -> None:
    scene.endpoint()
    endpoint = scene.properties(ENDPOINT)
    assert endpoint["RetainAllVariantProperties"] is True
    excluded = {
        each["VariantPropertyType"] for each in endpoint["ExcludeRetainedVariantProperties"]
    }
    assert excluded == {"DesiredWeight", "DataCaptureConfig"}


# Variants by name


def test_a_variant_that_does_not_exist_is_answered_with_those_that_do(scene: Scene) -> None:
    endpoint = scene.endpoint(scene.variant(variant_name="A"), scene.variant(variant_name="B"))
    with pytest.raises(ValueError, match=r'variant: no "Typo": write one of A, B$'):
        endpoint.find_instance_production_variant("Typo")


# Network, encryption, capture


def test_instances_have_the_groups_that_are_given_and_one_that_lets_nothing_out(
    scene: Scene,
) -> None:
    vpc = ec2.Vpc(scene.stack, "Vpc", max_azs=2)
    group = ec2.SecurityGroup(scene.stack, "Group", vpc=vpc)
    scene.endpoint(vpc=vpc, security_groups=[group])
    first, own = scene.properties(MODEL)["VpcConfig"]["SecurityGroupIds"]
    assert first == scene.stack.resolve(group.security_group_id)
    groups = scene.template().find_resources("AWS::EC2::SecurityGroup")
    (rule,) = groups[own["Fn::GetAtt"][0]]["Properties"]["SecurityGroupEgress"]
    assert rule["CidrIp"] == "255.255.255.255/32"  # which is nobody: it only tells interfaces
    statements = _statements(scene)
    assert "ec2:CreateNetworkInterface" in statements["AttachToVpc"]["Action"]


def test_instances_are_in_private_subnets_and_a_group_of_their_own_by_default(
    scene: Scene,
) -> None:
    vpc = ec2.Vpc(scene.stack, "Vpc", max_azs=2)
    scene.endpoint(vpc=vpc)
    values = scene.properties(MODEL)["VpcConfig"]
    assert values["Subnets"] == scene.stack.resolve(
        [subnet.subnet_id for subnet in vpc.private_subnets]
    )
    (own,) = values["SecurityGroupIds"]
    groups = scene.template().find_resources("AWS::EC2::SecurityGroup")
    (rule,) = groups[own["Fn::GetAtt"][0]]["Properties"]["SecurityGroupEgress"]
    assert rule["CidrIp"] == "0.0.0.0/0"


def test_an_endpoint_that_leaves_its_vpc_may_delete_its_interfaces_until_it_has(
    scene: Scene,
) -> None:
    # CloudFormation changes a policy before what depends on it, and deletes one at the very end.
    scene.endpoint(vpc=ec2.Vpc(scene.stack, "Vpc", max_azs=2))
    policies = scene.template().find_resources("AWS::IAM::Policy")
    (name,) = (name for name, each in policies.items() if "ec2:" in json.dumps(each))
    assert "VpcPolicy" in name
    (model,) = scene.template().find_resources(MODEL).values()
    assert name in model["DependsOn"]


def test_an_endpoint_in_another_vpc_keeps_the_policy_of_the_first_until_it_has_left() -> None:
    # Of one policy that changes, the update would begin without what deletes its old interfaces.
    names = []
    for vpc_id in ("vpc-1", "vpc-2"):
        scene = Scene()
        vpc = ec2.Vpc.from_vpc_attributes(
            scene.stack,
            "Vpc",
            availability_zones=["a", "b"],
            private_subnet_ids=["subnet-1", "subnet-2"],
            vpc_id=vpc_id,
        )
        scene.endpoint(vpc=vpc)
        policies = scene.template().find_resources("AWS::IAM::Policy")
        (name,) = (policy for policy in policies if "VpcPolicy" in policy)
        assert f":vpc/{vpc_id}" in json.dumps(policies[name])
        names.append(name)
    assert names[0] != names[1]


def test_rights_of_a_vpc_are_there_only_with_one(scene: Scene) -> None:
    scene.endpoint()
    assert not any("ec2:" in json.dumps(statement) for statement in _statements(scene).values())


def test_volumes_are_encrypted_with_the_key_that_is_given(scene: Scene) -> None:
    scene.endpoint(encryption_key=kms.Key(scene.stack, "VolumeKey"))
    key = scene.properties(CONFIG)["KmsKeyId"]
    assert "Fn::GetAtt" in key
    grants = _statements(scene)["EncryptVolumes"]
    assert (grants["Action"], grants["Resource"]) == ("kms:CreateGrant", key)
    assert grants["Condition"] == {"Bool": {"kms:GrantIsForAWSResource": "true"}}
    assert _resources(scene, "kms:DescribeKey") == [key]


def test_the_role_makes_no_grants_where_no_key_encrypts_volumes(scene: Scene) -> None:
    scene.endpoint()
    assert "EncryptVolumes" not in _statements(scene)


def test_requests_and_answers_are_captured(scene: Scene) -> None:
    bucket = s3.Bucket(scene.stack, "Captured", encryption_key=kms.Key(scene.stack, "CaptureKey"))
    scene.endpoint(data_capture=DataCapture(bucket=bucket, prefix="text/", percent=5))
    capture = scene.properties(CONFIG)["DataCaptureConfig"]
    assert capture["CaptureOptions"] == [{"CaptureMode": "Input"}, {"CaptureMode": "Output"}]
    assert capture["InitialSamplingPercentage"] == 5
    assert capture["DestinationS3Uri"]["Fn::Join"][1][-1] == "/text"
    assert "Fn::GetAtt" in capture["KmsKeyId"]


def test_captured_requests_can_be_written_and_encrypted(scene: Scene) -> None:
    bucket = s3.Bucket(scene.stack, "Captured", encryption_key=kms.Key(scene.stack, "CaptureKey"))
    scene.endpoint(data_capture=DataCapture(bucket=bucket, prefix="text/"))
    (objects,) = _resources(scene, "s3:PutObject")
    assert objects["Fn::Join"][1][0]["Fn::GetAtt"][0].startswith("Captured")
    assert objects["Fn::Join"][1][1] == "/text/*"
    (encrypting,) = _resources(scene, "kms:GenerateDataKey")
    assert encrypting["Fn::GetAtt"][0].startswith("CaptureKey")


def test_only_answers_are_captured_if_asked(scene: Scene) -> None:
    bucket = s3.Bucket(scene.stack, "Captured")
    scene.endpoint(data_capture=DataCapture(bucket=bucket, prefix="t", requests=False))
    capture = scene.properties(CONFIG)["DataCaptureConfig"]
    assert capture["CaptureOptions"] == [{"CaptureMode": "Output"}]


def test_defaults_leave_out_all_that_was_not_asked_for(scene: Scene) -> None:
    scene.endpoint()
    assert set(scene.properties(CONFIG)) == {"MetricsConfig", "ProductionVariants"}
    assert set(scene.properties(MODEL)) == {"ExecutionRoleArn", "PrimaryContainer"}


@pytest.mark.parametrize(
    ("arguments", "detailed"), [({}, False), ({"detailed_observability": True}, True)]
)
def test_no_metrics_are_charged_that_nobody_asked_for(
    scene: Scene, arguments: dict[str, bool], detailed: bool
) -> None:
    # AWS's default is to publish them.
    scene.endpoint(**arguments)
    assert scene.properties(CONFIG)["MetricsConfig"] == {
        "EnableDetailedObservability": detailed,
        "EnableEnhancedMetrics": False,
        "MetricPublishFrequencyInSeconds": 60,
    }


def test_the_log_group_is_there_before_the_endpoint_writes_to_it(scene: Scene) -> None:
    # The role may not make it: what the first instances say would be lost.
    scene.endpoint()
    resources = scene.template().to_json()["Resources"]
    (endpoint,) = (resource for resource in resources.values() if resource["Type"] == ENDPOINT)
    assert "AWS::Logs::LogGroup" in {resources[name]["Type"] for name in endpoint["DependsOn"]}


def test_logs_are_kept_for_a_while_and_not_for_ever(scene: Scene) -> None:
    scene.endpoint()
    assert scene.properties("AWS::Logs::LogGroup") == {
        "LogGroupName": "/aws/sagemaker/Endpoints/under-test",
        "RetentionInDays": 90,
    }


def test_an_endpoint_can_write_into_a_log_that_outlives_its_stack(scene: Scene) -> None:
    # A create that fails takes its stack with it, and would take the log that says why.
    stack = Stack(App.of(scene.stack), "Stays")
    scene.endpoint(log=EndpointLog(stack, "Log", endpoint_name="under-test"))
    scene.template().resource_count_is("AWS::Logs::LogGroup", 0)
    assert stack in scene.stack.dependencies


# Access


def test_role_reads_only_its_own_archives(scene: Scene) -> None:
    scene.endpoint()
    statements = _statements(scene)
    assert statements["ReadOwnArchives"]["Resource"]["Fn::Join"][1][-1] == "/test/*"
    assert statements["ListOwnArchives"]["Condition"] == {"StringLike": {"s3:prefix": ["test/*"]}}
    assert statements["PullImages"]["Resource"] == {
        "Fn::Join": [
            "",
            [
                "arn:",
                {"Ref": "AWS::Partition"},
                ":ecr:us-east-1:763104351884:repository/sagemaker-tritonserver",
            ],
        ]
    }


def test_role_reads_what_an_update_leaves_because_old_instances_load_from_there(
    scene: Scene,
) -> None:
    scene.endpoint(scene.variant(hosting=scene.multi_model(prefix="text/cpu-24.09/")))
    statements = _statements(scene)
    assert statements["ReadOwnArchives"]["Resource"]["Fn::Join"][1][-1] == "/text/*"
    assert statements["ListOwnArchives"]["Condition"] == {"StringLike": {"s3:prefix": ["text/*"]}}


def test_role_decrypts_the_archives_of_its_bucket(scene: Scene) -> None:
    scene.endpoint()
    (key,) = scene.template().find_resources("AWS::KMS::Key")
    assert _resources(scene, "kms:Decrypt") == [{"Fn::GetAtt": [key, "Arn"]}]


def test_role_sees_the_alarms_that_roll_updates_back(scene: Scene) -> None:
    scene.endpoint()
    (alarms,) = _resources(scene, "cloudwatch:DescribeAlarms")
    assert alarms["Fn::Join"][1][-1] == ":alarm:*"


def test_role_publishes_metrics_in_sagemaker_s_namespaces_alone(scene: Scene) -> None:
    scene.endpoint()
    assert _statements(scene)["PublishInstanceMetrics"]["Condition"] == {
        "StringLike": {"cloudwatch:namespace": ["AWS/SageMaker*", "/aws/sagemaker/*"]}
    }


def test_role_writes_triton_s_metrics_into_their_log_and_namespace(scene: Scene) -> None:
    publish = PublishedMetrics(log_group="/triton", namespace="Triton/under-test")
    scene.endpoint(scene.with_options(publish_metrics=publish))
    statements = _statements(scene)
    assert any(
        each["Fn::Join"][1][-1].endswith(":log-group:/triton:*")
        for each in statements["WriteOwnLogs"]["Resource"]
    )
    assert statements["PublishTritonMetrics"]["Condition"] == {
        "StringEquals": {"cloudwatch:namespace": ["Triton/under-test"]}
    }


def test_role_uses_no_managed_policy_and_star_only_where_no_resource_exists(scene: Scene) -> None:
    scene.endpoint()
    assert "ManagedPolicyArns" not in scene.properties("AWS::IAM::Role")
    everywhere = {sid for sid, each in _statements(scene).items() if each["Resource"] == "*"}
    assert everywhere == {"LogInToRegistries", "PublishInstanceMetrics"}


def test_others_grant_the_role_of_the_instances_what_they_use(scene: Scene) -> None:
    bucket = s3.Bucket(scene.stack, "Features")
    bucket.grant_read(scene.endpoint().role)
    (objects,) = (
        statement for statement in _role_statements(scene) if "s3:GetBucket*" in statement["Action"]
    )
    assert objects["Resource"][0] == scene.stack.resolve(bucket.bucket_arn)


def test_archives_of_a_bucket_without_a_key_of_its_own_are_read(scene: Scene) -> None:
    bucket = s3.Bucket.from_bucket_name(scene.stack, "Theirs", "their-models")
    scene.endpoint(scene.variant(hosting=scene.multi_model(bucket=bucket)))
    arn = _statements(scene)["ReadOwnArchives"]["Resource"]["Fn::Join"][1]
    assert arn[-1] == ":s3:::their-models/test/*"
    assert _resources(scene, "kms:Decrypt") == []


def test_invoking_is_granted_on_the_one_endpoint(scene: Scene) -> None:
    scene.endpoint().grant_invoke(iam.User(scene.stack, "User"))
    statement = _user_statement(scene)
    assert statement["Action"] == "sagemaker:InvokeEndpoint"
    assert statement["Resource"]["Fn::Join"][1][-1] == ":endpoint/under-test"
    assert "Condition" not in statement


def test_invoking_is_granted_by_model(scene: Scene) -> None:
    scene.endpoint().grant_invoke(iam.User(scene.stack, "User"), models=["minilm", "bert"])
    assert _user_statement(scene)["Condition"] == {
        "StringLike": {
            "sagemaker:TargetModel": [
                "minilm-????????????.tar.gz",
                "published/minilm-????????????.tar.gz",
                "bert-????????????.tar.gz",
                "published/bert-????????????.tar.gz",
            ]
        }
    }


def test_invoking_by_model_is_not_granted_where_no_model_can_be_named(scene: Scene) -> None:
    endpoint = scene.endpoint(scene.variant(hosting=scene.single_model()))
    with pytest.raises(ValueError, match="SingleModelHosting is invoked without naming"):
        endpoint.grant_invoke(iam.User(scene.stack, "User"), models=["minilm"])


# As the CDK's own


def test_the_endpoint_resource_is_what_escape_hatches_change(scene: Scene) -> None:
    endpoint = scene.endpoint()
    assert endpoint.node.default_child is endpoint.endpoint
    endpoint.apply_removal_policy(RemovalPolicy.RETAIN)
    scene.template().has_resource(ENDPOINT, {"DeletionPolicy": "Retain"})


def test_api_gateway_takes_an_endpoint_and_may_invoke_it(scene: Scene) -> None:
    api = apigateway.RestApi(scene.stack, "Api", cloud_watch_role=False)
    api.root.add_method("POST", apigateway.SagemakerIntegration(scene.endpoint()))
    policies = scene.template().find_resources("AWS::IAM::Policy")
    (policy,) = (each for name, each in policies.items() if name.startswith("Api"))
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert statement["Action"] == "sagemaker:InvokeEndpoint"
    assert statement["Resource"]["Fn::Join"][1][-1] == ":endpoint/under-test"


def test_an_endpoint_is_imported_by_its_name(scene: Scene) -> None:
    endpoint = TritonEndpoint.from_endpoint_name(scene.stack, "Text", "text")
    assert endpoint.endpoint_name == "text"
    assert scene.stack.resolve(endpoint.endpoint_arn)["Fn::Join"][1][-1] == ":endpoint/text"


def test_imported_endpoints_and_those_of_the_app_have_one_interface(scene: Scene) -> None:
    imported = TritonEndpoint.from_endpoint_name(scene.stack, "Text", "text")
    endpoints = [scene.endpoint(), imported]
    user = iam.User(scene.stack, "User")
    for endpoint in endpoints:
        endpoint.grant_invoke(user, models=["minilm"]).assert_success()


def test_invoking_an_imported_endpoint_is_granted_by_model(scene: Scene) -> None:
    endpoint = TritonEndpoint.from_endpoint_name(scene.stack, "Text", "text")
    endpoint.grant_invoke(iam.User(scene.stack, "User"), models=["minilm"])
    statement = _user_statement(scene)
    assert statement["Resource"]["Fn::Join"][1][-1] == ":endpoint/text"
    assert statement["Condition"] == {
        "StringLike": {
            "sagemaker:TargetModel": [
                "minilm-????????????.tar.gz",
                "published/minilm-????????????.tar.gz",
            ]
        }
    }


def _statements(scene: Scene) -> dict[str, dict[str, Any]]:
    """What the role may do, by the names of its statements."""
    return {
        statement["Sid"]: statement for statement in _role_statements(scene) if "Sid" in statement
    }


def _resources(scene: Scene, action: str) -> list[Any]:
    """On what the role may do one thing; `grant_*` of the CDK gives its statements no names."""
    result = [statement for statement in _role_statements(scene) if action in statement["Action"]]
    return [each["Resource"] for each in result]


def _role_statements(scene: Scene) -> list[dict[str, Any]]:
    policies = scene.template().find_resources("AWS::IAM::Policy")
    return [
        statement
        for name, policy in policies.items()
        if "Role" in name
        for statement in policy["Properties"]["PolicyDocument"]["Statement"]
    ]


def _user_statement(scene: Scene) -> dict[str, Any]:
    policies = scene.template().find_resources("AWS::IAM::Policy")
    (policy,) = (each for name, each in policies.items() if name.startswith("User"))
    (statement,) = policy["Properties"]["PolicyDocument"]["Statement"]
    result: dict[str, Any] = statement
    return result
