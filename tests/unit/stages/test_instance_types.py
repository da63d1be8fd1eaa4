"""Several instance types of an endpoint in a stage: valid and invalid settings."""

import pytest

from tests.unit.stages.conftest import load, problems

POOL = """\
region: us-east-1
release: "25.09"
endpoints:
  text:
    models: [minilm]
    hosting: single-model
    instance_types: [ml.g6.xlarge, ml.g5.xlarge]
"""


def test_unconfirmed_region_needs_unconfirmed_pools() -> None:
    text = POOL.replace("us-east-1\n", "eu-west-3\nunconfirmed: [pools]\n")
    assert load(text).endpoints["text"].instance_types


TYPES = "    instance_types: [ml.g6.xlarge, ml.g5.xlarge]\n"
SCALING = "    scaling: {{ min_count: 1, max_count: 4, {} }}\n"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (TYPES, TYPES + "    instance_type: ml.g5.xlarge\n",
         "instance_types: instance_type is written too: remove one of them"),
        ("single-model", "multi-model", "instance_types: AWS documents several types for"),
        (TYPES, "    instance_type: ml.g5.xlarge\n    provision_timeout_minutes: 15\n",
         "provision_timeout_minutes: with one instance type there is no other type to try"),
        (TYPES, TYPES + "    variants: { A: { instance_type: ml.g5.xlarge } }\n",
         "variants.A.instance_type: instance_types applies to every variant"),
        (TYPES, TYPES + SCALING.format("concurrency: { ml.g6.xlarge: 12 }"),
         "scaling.concurrency: names ml.g6.xlarge: write a number for each of ml.g6.xlarge"),
        (TYPES,
         "    instance_type: ml.g5.xlarge\n" + SCALING.format("concurrency: { ml.g5.xlarge: 12 }"),
         "scaling.concurrency: the endpoint has one instance type: write one number"),
        ("us-east-1", "eu-west-3", "instance_types: eu-west-3 is not among the regions that AWS's"),
        ('"25.09"\n', '"23.05"\n', "instance_types: the InferenceAmiVersion for release 23.05 is"),
    ],
)  # fmt: skip
def test_invalid_setting_is_an_error_at_its_key(old: str, new: str, message: str) -> None:
    assert old in POOL
    assert any(message in line for line in problems(POOL.replace(old, new)))
