"""ModelBucket."""

from aws_cdk import App, RemovalPolicies, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Match, Template

from triton_sagemaker import ModelBucket


def test_bucket_is_encrypted_with_the_models_own_key(models_template: Template) -> None:
    models_template.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "BucketEncryption": {
                "ServerSideEncryptionConfiguration": [
                    {
                        "BucketKeyEnabled": True,
                        "ServerSideEncryptionByDefault": {
                            "KMSMasterKeyID": {"Fn::GetAtt": [Match.any_value(), "Arn"]},
                            "SSEAlgorithm": "aws:kms",
                        },
                    }
                ]
            }
        },
    )


def test_key_is_rotated(models_template: Template) -> None:
    models_template.all_resources_properties("AWS::KMS::Key", {"EnableKeyRotation": True})


def test_buckets_and_key_outlive_the_stack(models_template: Template) -> None:
    models_template.all_resources("AWS::S3::Bucket", {"DeletionPolicy": "Retain"})
    keys = models_template.find_resources("AWS::KMS::Key")
    (key,) = (each for name, each in keys.items() if name.startswith("Models"))
    assert key["DeletionPolicy"] == "Retain"


def test_it_is_a_bucket_wherever_the_cdk_takes_one() -> None:
    stack = Stack(App(), "Stack")
    bucket: s3.IBucket = ModelBucket(stack, "Models")
    bucket.grant_read(iam.User(stack, "Reader"))  # of the objects, and of their key
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    (objects, key) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert {*objects["Action"]} == {"s3:GetBucket*", "s3:GetObject*", "s3:List*"}
    assert {*key["Action"]} == {"kms:Decrypt", "kms:DescribeKey"}


def test_the_removal_policies_of_a_stack_reach_buckets_and_key() -> None:
    stack = Stack(App(), "Stack")
    models = ModelBucket(stack, "Models")
    RemovalPolicies.of(stack).destroy()
    template = Template.from_stack(stack)
    for kind in ("AWS::S3::Bucket", "AWS::KMS::Key"):
        template.all_resources(kind, {"DeletionPolicy": "Delete"})
    child = models.node.default_child
    assert child
    assert child.node.path == "Stack/Models/Bucket/Resource"


def test_buckets_are_private(models_template: Template) -> None:
    models_template.all_resources_properties(
        "AWS::S3::Bucket",
        {
            "PublicAccessBlockConfiguration": {
                "BlockPublicAcls": True,
                "BlockPublicPolicy": True,
                "IgnorePublicAcls": True,
                "RestrictPublicBuckets": True,
            }
        },
    )


def test_buckets_refuse_plain_http(models_template: Template) -> None:
    models_template.all_resources_properties(
        "AWS::S3::BucketPolicy",
        {
            "PolicyDocument": {
                "Statement": Match.array_with(
                    [
                        Match.object_like(
                            {
                                "Effect": "Deny",
                                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                            }
                        )
                    ]
                )
            }
        },
    )


def test_parts_of_broken_uploads_go_after_a_day_and_jobs_of_engine_builds_after_a_month(
    models_template: Template,
) -> None:
    models_template.has_resource_properties(
        "AWS::S3::Bucket",
        {
            "LifecycleConfiguration": {
                "Rules": [
                    {
                        "AbortIncompleteMultipartUpload": {"DaysAfterInitiation": 1},
                        "Status": "Enabled",
                    },
                    {"ExpirationInDays": 30, "Prefix": "engine-jobs/", "Status": "Enabled"},
                ]
            }
        },
    )
