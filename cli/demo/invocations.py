"""Asks the deployed endpoint as any program would: boto3 and tritonclient, no code of ours."""

import json
import statistics
import time
from dataclasses import dataclass
from typing import Any

import boto3
import numpy as np
import numpy.typing as npt
import tritonclient.http as triton

SENTENCES = [
    "That is a happy person",
    "That is a very happy person",
    "Today is a sunny day",
    "Der Himmel ist heute blau ☀",
]
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="
WARM_CALLS = 20

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Answers:
    """Embeddings of `SENTENCES` by both payloads; latencies in seconds, `warm` is a median."""

    version: str
    parameter: str
    json: Array
    binary: Array
    cold: float
    warm: float


def ask(*, stage: str, endpoint: str, model: str) -> Answers:
    """Resolve the model in the catalog and invoke it, first as JSON, then in binary."""
    parameter = f"/triton/{stage}/{endpoint}/{model}"
    value = boto3.client("ssm").get_parameter(Name=parameter)["Parameter"]["Value"]
    entry = json.loads(value)
    runtime = boto3.client("sagemaker-runtime")

    def invoke(body: bytes, content_type: str) -> tuple[bytes, str]:
        answer = runtime.invoke_endpoint(
            EndpointName=entry["endpoint"],
            TargetModel=entry["target_model"],
            ContentType=content_type,
            Body=body,
        )
        return answer["Body"].read(), answer["ContentType"]

    text = {
        "inputs": [
            {"name": "TEXT", "shape": [4, 1], "datatype": "BYTES", "data": SENTENCES},
        ]
    }
    start = time.perf_counter()
    body, _ = invoke(json.dumps(text).encode(), "application/json")
    cold = time.perf_counter() - start
    output = json.loads(body)["outputs"][0]
    from_json = np.array(output["data"], np.float32).reshape(output["shape"])

    tensor = triton.InferInput("TEXT", [4, 1], "BYTES")
    tensor.set_data_from_numpy(np.array([[it.encode()] for it in SENTENCES], object))
    wanted = [triton.InferRequestedOutput("EMBEDDING", binary_data=True)]
    request, length = triton.InferenceServerClient.generate_request_body([tensor], outputs=wanted)
    times = []
    for _ in range(WARM_CALLS):
        start = time.perf_counter()
        body, content_type = invoke(request, f"{BINARY}{length}")
        times.append(time.perf_counter() - start)
    from_binary = triton.InferenceServerClient.parse_response_body(
        body, header_length=int(content_type.removeprefix(BINARY))
    ).as_numpy("EMBEDDING")
    return Answers(
        version=entry["version"],
        parameter=parameter,
        json=from_json,
        binary=from_binary,
        cold=cold,
        warm=statistics.median(times),
    )
