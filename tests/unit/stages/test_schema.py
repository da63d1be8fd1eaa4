"""The stage file schema: defaults, valid settings and error messages."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import platform_facts
from stages import StageConfig
from stages.schema.section import Section
from stages.schema.server import ServerConfig
from tests.synth.every_stage import EVERY_STAGE, every_stage
from tests.unit.stages.conftest import load, problems

VALID = """\
region: us-east-1
release: "25.09"
endpoints:
  text:
    models: [minilm]
    instance_type: ml.g5.xlarge
"""

IMAGE = f"123456789012.dkr.ecr.us-west-1.amazonaws.com/tensorrt@sha256:{'0' * 64}"

OWN_IMAGE = f"image: {{ uri: '{IMAGE.replace('us-west-1', 'us-east-1')}' }}"

PRODUCTION = "production: true\nnotify: { email: [team@company.com] }\n"
TOPIC_IN_CHINA = "arn:aws-cn:sns:us-east-1:111122223333:alarms"

VPC = "vpc_id: vpc-0123456789abcdef0"
SUBNETS = ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"]
ARN = "arn:aws:kms:us-east-1:111122223333:key/01234567-89ab-cdef-0123-456789abcdef"


def test_key_of_an_existing_resource_names_the_section() -> None:
    assert problems(f"{VALID}vpc_id: abc\n") == [
        "prod.yaml:7: vpc_id: not supported; write existing: at the top of the file "
        "(docs/stages.md)"
    ]


def test_unsupported_key_error_links_to_the_docs() -> None:
    page, heading = "docs/stages.md", "What a stage cannot do"
    assert problems(VALID + "    serverless: abc\n") == [
        f"prod.yaml:7: endpoints.text.serverless: not supported; {page}, {heading}, has "
        "alternatives"
    ]
    assert f"\n## {heading}\n" in (Path(__file__).parents[3] / page).read_text()


def test_every_key_has_a_description() -> None:
    schema = StageConfig.model_json_schema()
    del schema["$defs"]["AlarmsConfig"]  # AlarmThresholds describes its metrics
    for section in (schema, *schema["$defs"].values()):
        for name, field in section.get("properties", {}).items():
            assert field.get("description"), name


def test_every_key_is_documented_and_in_a_synthesised_stage() -> None:
    """No template that cfn-lint and cdk-nag judge has a key that no test stage sets."""
    schema = StageConfig.model_json_schema()
    page = (Path(__file__).parents[3] / "docs/stages.md").read_text()
    sections = {schema["title"]: schema, **schema["$defs"]}
    keys = {(name, key) for name, section in sections.items() for key in section["properties"]}
    documented = {*_documented_keys(sections, page)}
    documented |= {("ServerConfig", key) for key in ServerConfig.model_fields}  # in the JSON schema
    assert sorted(keys - documented) == [], "describe these keys in docs/stages.md"
    used = {key for name in EVERY_STAGE for key in _used_keys(every_stage(name))}
    assert sorted(keys - used) == [], "set these keys in tests/synth/every_stage.py"


def _documented_keys(sections: dict[str, Any], page: str) -> Iterator[tuple[str, str]]:
    """Yield section and key where a table has a row of the key, or the key stands in code.

    Keys of a section are looked for in the row of the section's own key and the parts of the page
    to which that links; without a row, in the part that has the key.
    """
    head, *parts = re.split(r"^#{2,3} ", page, flags=re.MULTILINE)
    by_anchor = {}
    for part in parts:
        title = part.partition("\n")[0].lower().replace(" ", "-")
        by_anchor[re.sub(r"[^\w-]", "", title)] = part

    def walk(name: str, text: str) -> Iterator[tuple[str, str]]:
        example = "" if "| Key " in text else "```.*?```|"  # without a table, it names the keys
        code = " ".join(re.findall(rf"{example}`[^`\n]+`", text, re.DOTALL))
        for key, value in sections[name]["properties"].items():
            row = re.search(rf"^\| [^|]*`{key}`.*", text, re.MULTILINE)
            if row or ("| Key |" not in text and re.search(rf"\b{key}\b", code)):
                yield name, key
            anchors = re.findall(r"\(#(.+?)\)", row[0]) if row else ()
            own = "\n".join((row[0], *map(by_anchor.__getitem__, anchors))) if row else text
            for other in re.findall(r"#/\$defs/(\w+)", str(value)):
                yield from walk(other, own)

    return walk("StageConfig", head)


def _used_keys(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, Section):
        for key in value.model_fields_set:
            yield type(value).__name__, key
            yield from _used_keys(getattr(value, key))
    elif isinstance(value, dict):
        for item in value.values():
            yield from _used_keys(item)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("25.09", "25.9",
         '2: release: no SageMaker Triton release "25.9": did you mean 25.09? '
         "Known: " + ", ".join(row.name for row in platform_facts.releases())),
        ("ml.g5.xlarge", "ml.g5.xlrge",
         '6: endpoints.text.instance_type: no SageMaker hosting instance type "ml.g5.xlrge": did '
         "you mean ml.g5.xlarge or ml.g5.8xlarge or ml.g5.4xlarge?"),
        ("  text:", "  models:",
         "4: endpoints.models: models is the name of another stack of the stage: write another "
         "name"),
        ("[minilm]", "[b-b, a-a, b-b, a-a, c-c]",
         "5: endpoints.text.models: a-a, b-b listed twice: remove one"),
        ("[minilm]", "[a-a, b-b]\n    hosting: single-model",
         "5: endpoints.text.models: single-model hosting takes one model, not 2"),
        ("us-east-1", "mx-central-1",
         "1: region: CloudFormation has no AWS::CodeBuild::Project in mx-central-1: write another "
         "region"),
        ("region: us-east-1", f'gpu_build_images: {{ "25.09": "{IMAGE}" }}\nregion: us-west-1',
         "1: gpu_build_images.25.09: CodeBuild has no GPU in us-west-1: remove it"),
        (
            "ml.g5.xlarge",
            "ml.p5.48xlarge",  # no single-GPU type with its H100 is documented
            "6: endpoints.text.instance_type: ml.p5.48xlarge cannot host a multi-model endpoint, "
            "which supports one GPU: write a single-GPU type such as ml.g5.xlarge, or host a "
            "single model",
        ),
    ],
)  # fmt: skip
def test_invalid_stage_error_has_line_and_fix(old: str, new: str, message: str) -> None:
    lines = problems(VALID.replace(old, new, 1))
    assert lines == [f"prod.yaml:{line}" for line in message.splitlines()]


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        # Endpoints
        ("    variants: { One: {}, Two: { instance_type: ml.g5.48xlarge } }",
         "variants.Two.instance_type: ml.g5.48xlarge cannot host a multi-model"),
        ("    scaling: { min_count: 2, max_count: 1, max_rps: 9 }",
         "scaling.max_count: 1 is less than the minimum, 2: write 2 or more"),
        ("    alarms: { server_error_rate: { critical: .nan } }",
         "alarms.server_error_rate.critical: write a finite number, not nan"),
        ("    server: { model_load_gpu_limit: 0.8 }\n"
         "    variants: { One: { instance_type: ml.m5.xlarge }, Two: {}, Three: { "
         "instance_type: ml.m5.xlarge } }",
         "server.model_load_gpu_limit: ml.m5.xlarge has no GPU: remove it"),
        ('    environment: { SAGEMAKER_TRITON_THREAD_COUNT: "2" }',
         "environment.SAGEMAKER_TRITON_THREAD_COUNT"),
        ('    environment: { A: "b\\0c" }',
         "environment.A: has a NUL byte, which environment variables cannot"),
        *((f'    environment: {{ {name}: "/models" }}',
           f"environment.{name}: decides which programs or libraries the container")
          for name in ("BASH_ENV", "HOME", "LD_AUDIT", "LD_PRELOAD", "PATH", "PYTHONPATH")),
        ("    server: { additional_args: ' ' }",
         "server.additional_args: ' ' has no argument: write one, or remove it"),
        ("    hosting: single-model\n    cache_models: false",
         "cache_models: a single model always stays in memory"),
        ("    cache_models: false\n    alarms: { unloads_per_minute: { warning: 3 } }",
         "alarms.unloads_per_minute: alarms of the model cache need"),
        ("    download_timeout_minutes: 20",
         "download_timeout_minutes: not known to work for a model that a call loads: remove it"),
        ("    volume_size_gb: 100\n    variants: { One: { instance_type: ml.m5.xlarge }, Two: {} }",
         "volume_size_gb: ml.g5.xlarge has local NVMe storage, and SageMaker attaches no volume"),
        ("    publish_metrics: true\n    server: { grpc_port: 23000 }",
         "server: gRPC has the port 23000, metrics 23000, SageMaker 8080: write another"),
        ("    data_capture:", "data_capture: is empty: write data_capture"),
        ("    scaling: { min_count: 1, max_count: 2, schedules: { night: { at: rate(1 day), "
         "min_count: 1, max_count: 2, timezone: Europe/Berlinn } } }",
         "scaling.schedules.night.timezone: 'Europe/Berlinn' is not a"),
        ("    alarms: { model_latency_p99_ms: { warning: 900, critical: 500 } }",
         "alarms.model_latency_p99_ms.warning: 900 is more than critical, 500"),
        ("    alarms: { cache_hit_rate_below: { warning: 0.5, critical: 0.8 } }",
         "alarms.cache_hit_rate_below.warning: 0.5 is less than critical, 0.8"),
        ("zones: [us-east-1a, us-east-1b]",
         "zones: only a private network has subnets: write private_network: true"),
        ("private_network: true\nzones: [us-east-1a, us-west-2-lax-1a]",
         "zones: 'us-west-2-lax-1a' is not a zone of us-east-1: write us-east-1a, for example"),
        ("    instance_count: 2\nproduction: true",
         "production: alarms of a production stage have no notification target: write notify"),
        ("    instance_count: 2\nnotify: { email: [team@company.com] }",
         "notify: only production stages have alarms to notify of: remove notify"),
        (f'gpu_build_images: {{ "25.09": "{IMAGE}" }}',
         "gpu_build_images.25.09: the image is in another region than us-east-1: copy it there"),
        (f"    instance_count: 2\nproduction: true\nnotify: {{ topics: [{TOPIC_IN_CHINA}] }}",
         f"notify.topics: {TOPIC_IN_CHINA} is not an ARN of us-east-1: write arn:aws:..."),
        # The instances reach only S3; the behaviour of the metrics agent is unknown then.
        ("    publish_metrics: true\nprivate_network: true",
         "publish_metrics: instances in the"),
        (f"private_network: true\nexisting: {{ {VPC}, subnet_ids: [{', '.join(SUBNETS)}] }}",
         "private_network: existing.vpc_id is a VPC already: remove one of them"),
        ("    data_capture: { keep_days: 3 }\nexisting: { capture_bucket: records }",
         "data_capture.keep_days: the lifecycle rules of records decide about deletion: remove it"),
        # The image
        (f"    hosting: single-model\n    image: {{ uri: '{IMAGE}' }}",
         "image.uri: the image is in another region than us-east-1: copy it there"),
        (f"    {OWN_IMAGE}",
         "image: ml.g5.xlarge has a GPU, and a multi-model endpoint with GPUs runs only AWS's "
         "image"),
    ],
)  # fmt: skip
def test_invalid_setting_is_an_error_at_its_key(setting: str, message: str) -> None:
    (problem,) = problems(f"{VALID}{setting}\n")
    assert problem.partition(": ")[2].removeprefix("endpoints.text.").startswith(message)


@pytest.mark.parametrize(
    ("release", "setting", "since"),
    [
        ("24.09", "server: { inference_type: generate }\n    hosting: single-model", "25.03"),
        ("23.06", 'server: { additional_args: "--x" }', "23.07"),
        ("23.06", "publish_metrics: true", "23.07"),
    ],
)
def test_option_unsupported_by_the_release_is_an_error(
    release: str, setting: str, since: str
) -> None:
    (problem,) = problems(f"{VALID}    {setting}\n".replace("25.09", release))
    assert problem.endswith(
        f": release {release} does not have it: remove it, or write release {since} or newer"
    )
    assert problem.startswith(
        ("prod.yaml:7: endpoints.text.server.", "prod.yaml:7: endpoints.text.p")
    )


@pytest.mark.parametrize(
    ("release", "setting", "message"),
    [
        ("23.05", "tensorflow_version: 1", "has TensorFlow 2 only: write 2, or remove it"),
        ("25.09", "tensorflow_version: 2", "has no TensorFlow: remove it"),
    ],
)
def test_tensorflow_version_is_one_of_the_release(release: str, setting: str, message: str) -> None:
    text = f"{VALID}    server: {{ {setting} }}\n".replace("25.09", release)
    key = "prod.yaml:7: endpoints.text.server.tensorflow_version"
    assert problems(text) == [f"{key}: release {release} {message}"]
    assert load(text.replace(release, "23.03"))


@pytest.mark.parametrize(
    ("settings", "key"),
    [
        ("", "instance_count"),
        ("instance_count: 2\n    scaling: { min_count: 1, max_count: 4, max_rps: 9 }",
         "scaling.min_count"),
        ("instance_count: 2\n    scaling: { min_count: 2, max_count: 4, schedules: "
         "{ night: { at: rate(1 day), min_count: 1, max_count: 4 } } }",
         "scaling.schedules.night.min_count"),
    ],
)  # fmt: skip
def test_production_endpoint_needs_two_instances(settings: str, key: str) -> None:
    (problem,) = problems(f"{PRODUCTION}{VALID}    {settings}\n")
    assert problem.partition(": ")[2].startswith(f"endpoints.text.{key}: a production endpoint")
    assert load(f"{PRODUCTION}{VALID}    instance_count: 2\n").production


@pytest.mark.parametrize(
    ("existing", "message"),
    [
        ("vpc_id: vpc-x", "vpc_id: 'vpc-x' is not the ID of a VPC: write vpc-0123456789abcdef0"),
        (f"{VPC}", "vpc_id: missing subnet_ids: write two or more private subnets of the VPC"),
        (f"{VPC}, subnet_ids: [{SUBNETS[0]}]",
         "subnet_ids: 1 subnet(s): SageMaker needs 2 to 16, in two or more availability zones"),
        (f"{VPC}, subnet_ids: [{SUBNETS[0]}, {SUBNETS[0]}]",
         f"subnet_ids: {SUBNETS[0]} listed twice: remove one"),
        (f"subnet_ids: [{', '.join(SUBNETS)}]",
         "vpc_id: missing: write the VPC of subnet_ids and security_group_ids"),
        (f"security_group_ids: [{', '.join(f'sg-0123456{n}' for n in range(5))}]",
         "security_group_ids: 5 security groups: write at most 4"),
        (f"kms_key_arn: {ARN.replace('us-east-1', 'eu-west-1')}",
         "kms_key_arn: the key is not in us-east-1: write a key of the stage's region"),
        ("execution_role_arn: arn:aws:iam::999988887777:role/serving",
         "execution_role_arn: the role is not in the stage's account 111122223333: write"),
        ("execution_role_arn: arn:aws-us-gov:iam::111122223333:role/serving",
         "execution_role_arn: arn:aws-us-gov:iam::111122223333:role/serving is not an ARN of"),
        ("bootstrap_qualifier: acme team",
         "bootstrap_qualifier: 'acme team' is not a qualifier: write the 1 to 10"),
        ("capture_bucket: records",
         "capture_bucket: no endpoint has data_capture: remove it, or write data_capture: {}"),
    ],
)  # fmt: skip
def test_invalid_existing_resource_has_its_line(existing: str, message: str) -> None:
    (problem,) = problems(f'{VALID}account: "111122223333"\nexisting: {{ {existing} }}\n')
    assert problem.startswith(f"prod.yaml:8: existing.{message}")


def test_key_and_role_of_two_accounts_need_the_account() -> None:
    role = "arn:aws:iam::999988887777:role/teams/serving"
    existing = f"existing: {{ kms_key_arn: {ARN}, execution_role_arn: {role} }}\n"
    assert problems(f"{VALID}{existing}") == [
        "prod.yaml:7: existing.kms_key_arn: the key is of the account 111122223333, the role of "
        "999988887777: write account, or a key of the role's account"
    ]
    assert load(f'{VALID}{existing}account: "999988887777"\n').account == "999988887777"


def test_image_of_ones_own_needs_no_image_of_aws() -> None:
    text = VALID.replace("us-east-1", "cn-north-1").replace("25.09", "26.05")
    (problem,) = problems(text)
    assert problem.startswith("prod.yaml:2: release: region cn-north-1 has no SageMaker Triton")
    own = OWN_IMAGE.replace("us-east-1.amazonaws.com", "cn-north-1.amazonaws.com.cn")
    assert load(f"{text}    hosting: single-model\n    {own}\n")
