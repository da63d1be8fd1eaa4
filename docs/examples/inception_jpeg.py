"""Classify a JPEG file, which the DALI ensemble decodes, on multi- and single-model endpoints.

python docs/examples/inception_jpeg.py docs/examples/picture.jpg --endpoint vision
python docs/examples/inception_jpeg.py docs/examples/picture.jpg --endpoint inception
"""

import argparse
import json
from pathlib import Path
from typing import Any

import boto3
import numpy as np

from endpoint_client import EndpointClient


def main() -> None:
    """Classify one picture with endpoint_client and with boto3."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", type=Path)
    parser.add_argument("--stage", default="examples")
    parser.add_argument("--endpoint", default="vision")
    options = parser.parse_args()

    picture = options.picture.read_bytes()
    client = EndpointClient(stage=options.stage, endpoint=options.endpoint)
    inputs = {"INPUT": np.frombuffer(picture, np.uint8)[None]}
    predictions = client.invoke("inception", inputs, binary=False)["PREDICTIONS"][0]
    best = int(np.argmax(predictions))
    print(f"endpoint_client: class {best} with {predictions[best]:.4f}")

    entry = client.resolve("inception")
    scores = invoke_with_boto3(entry.endpoint, entry.target_model, picture)
    print(f"boto3: class {int(np.argmax(scores))} with {max(scores):.4f}")


def invoke_with_boto3(endpoint: str, target_model: str | None, picture: bytes) -> list[float]:
    """Invoke the model with JSON and boto3 only; single-model endpoints have no `TargetModel`."""
    tensor = {"name": "INPUT", "datatype": "UINT8", "shape": [1, len(picture)]}
    payload = {"inputs": [{**tensor, "data": list(picture)}]}
    target: dict[str, Any] = {"TargetModel": target_model} if target_model else {}
    response = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        ContentType="application/octet-stream",  # or application/json: Triton reads both as JSON
        Body=json.dumps(payload),
        **target,
    )
    (output,) = json.loads(response["Body"].read())["outputs"]
    predictions: list[float] = output["data"]
    return predictions


if __name__ == "__main__":
    main()
