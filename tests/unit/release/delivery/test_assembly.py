import json
from pathlib import Path

import pytest

from release.delivery.assembly import Assembly, StackEndpoint

MODELS = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}}}
KEY = "text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz"
ASSETS = {"Fn::Sub": "assets-${AWS::AccountId}-${AWS::Region}"}
TEXT = {
    "Resources": {
        "minilm": {
            "Type": "Custom::TritonModel",
            "Properties": {
                "ServiceToken": {"Fn::ImportValue": "prod-models:ExportsOutputOfProvider1"},
                "Key": KEY,
                "Bucket": {"Fn::ImportValue": "prod-models:ExportsOutputRefModelsBucket1"},
                "Source": {"Fn::Join": ["", [ASSETS, "/0a1b.zip"]]},
                "Place": {"Ref": "AWS::AccountId"},
            },
        },
        "Endpoint": {
            "Type": "AWS::SageMaker::Endpoint",
            "Properties": {
                "EndpointName": "prod-text",
                "EndpointConfigName": {"Fn::GetAtt": ["Config1", "EndpointConfigName"]},
            },
        },
    }
}


@pytest.fixture
def assembly(tmp_path: Path) -> Assembly:
    for name, template in (("prod-models", MODELS), ("prod-text", TEXT)):
        (tmp_path / f"{name}.template.json").write_text(json.dumps(template))
    return Assembly(tmp_path, "prod")


def test_an_assembly_names_its_stacks(assembly: Assembly) -> None:
    assert list(assembly.templates) == ["prod-models", "prod-text"]


def test_an_assembly_names_the_archives_that_a_deploy_needs(assembly: Assembly) -> None:
    assert assembly.archives == {KEY: "prod-text"}


def test_a_build_is_given_what_cloudformation_would_make_of_its_properties(
    assembly: Assembly,
) -> None:
    known = {
        "AWS::AccountId": "123456789012",
        "AWS::Region": "eu-west-1",
        "prod-models:ExportsOutputRefModelsBucket1": "bucket",
    }
    assert assembly.builds(known) == {
        KEY: {
            "Key": KEY,
            "Bucket": "bucket",
            "Source": "assets-123456789012-eu-west-1/0a1b.zip",
            "Place": "123456789012",
        }
    }


def test_the_export_of_the_bucket_is_the_same_in_every_stage(assembly: Assembly) -> None:
    assert assembly.bucket_export == "ExportsOutputRefModelsBucket1"


def test_an_assembly_names_its_endpoints(assembly: Assembly) -> None:
    assert assembly.endpoints == [
        StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config1")
    ]
