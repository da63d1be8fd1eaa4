"""ModelBucket: retention, lifecycle rules and the IBucket interface."""

from aws_cdk import App, RemovalPolicies, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_s3 as s3
from aws_cdk.assertions import Template

from triton_sagemaker import ModelBucket


def test_buckets_and_key_are_retained(models_template: Template) -> None:
    models_template.all_resources("AWS::S3::Bucket", {"DeletionPolicy": "Retain"})
    keys = models_template.find_resources("AWS::KMS::Key")
    (key,) = (key for name, key in keys.items() if name.startswith("Models"))
    assert key["DeletionPolicy"] == "Retain"


def test_model_bucket_implements_ibucket() -> None:
    stack = Stack(App(), "Stack")
    bucket: s3.IBucket = ModelBucket(stack, "Models")
    bucket.grant_read(iam.User(stack, "Reader"))  # of the objects, and of their key
    (policy,) = Template.from_stack(stack).find_resources("AWS::IAM::Policy").values()
    (objects, key) = policy["Properties"]["PolicyDocument"]["Statement"]
    assert {*objects["Action"]} == {"s3:GetBucket*", "s3:GetObject*", "s3:List*"}
    assert {*key["Action"]} == {"kms:Decrypt", "kms:DescribeKey"}


def test_stack_removal_policy_applies_to_buckets_and_key() -> None:
    stack = Stack(App(), "Stack")
    models = ModelBucket(stack, "Models")
    RemovalPolicies.of(stack).destroy()
    template = Template.from_stack(stack)
    for kind in ("AWS::S3::Bucket", "AWS::KMS::Key"):
        template.all_resources(kind, {"DeletionPolicy": "Delete"})
    child = models.node.default_child
    assert child
    assert child.node.path == "Stack/Models/Bucket/Resource"


def test_lifecycle_rules(models_template: Template) -> None:
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
