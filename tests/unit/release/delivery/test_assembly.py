import json
from pathlib import Path

import pytest

from release.delivery.assembly import Assembly, StackEndpoint

MODELS = {"Resources": {"Bucket": {"Type": "AWS::S3::Bucket", "Properties": {}}}}
TEXT = {
    "Resources": {
        "minilm": {
            "Type": "Custom::TritonModel",
            "Properties": {
                "Key": "text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz",
                "Bucket": {"Fn::ImportValue": "prod-models:ExportsOutputRefModelsBucket1"},
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
    assert assembly.archives == ["text/cuda-25.09-sm86/minilm-0123456789ab.tar.gz"]


def test_the_export_of_the_bucket_is_the_same_in_every_stage(assembly: Assembly) -> None:
    assert assembly.bucket_export == "ExportsOutputRefModelsBucket1"


def test_an_assembly_names_its_endpoints(assembly: Assembly) -> None:
    assert assembly.endpoints == [
        StackEndpoint(name="prod-text", short_name="text", stack="prod-text", config="Config1")
    ]
