"""ModelBucket: retention, lifecycle rules and the IBucket interface."""

from aws_cdk.assertions import Template


def test_buckets_and_key_are_retained(models_template: Template) -> None:
    models_template.all_resources("AWS::S3::Bucket", {"DeletionPolicy": "Retain"})
    keys = models_template.find_resources("AWS::KMS::Key")
    (key,) = (key for name, key in keys.items() if name.startswith("Models"))
    assert key["DeletionPolicy"] == "Retain"


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
