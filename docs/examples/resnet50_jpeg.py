"""Classify a JPEG file with ResNet50, with binary requests.

python docs/examples/resnet50_jpeg.py docs/examples/picture.jpg --stage examples --endpoint vision
"""

import argparse
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import numpy.typing as npt
from PIL import Image
from tritonclient.http import InferenceServerClient, InferInput, InferRequestedOutput

from endpoint_client import EndpointClient

MEAN, DEVIATION = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)
BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def main() -> None:
    """Classify one picture with endpoint_client and with boto3."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("picture", type=Path)
    parser.add_argument("--stage", default="examples")
    parser.add_argument("--endpoint", default="vision")
    options = parser.parse_args()

    pixels = normalize(options.picture)
    client = EndpointClient(stage=options.stage, endpoint=options.endpoint)
    logits = client.invoke("resnet50", {"INPUT__0": pixels})["OUTPUT__0"][0]
    print("endpoint_client:", [int(index) for index in np.argsort(logits)[:-4:-1]])

    entry = client.resolve("resnet50")
    for line in labels(entry.endpoint, entry.target_model, pixels):
        score, index, label = line.split(":")
        print(f"boto3: {label} (class {index}) {float(score):.3f}")


def normalize(path: Path) -> npt.NDArray[np.float32]:
    """Return ResNet50's input for a picture: FP32 [1, 3, 224, 224]."""
    picture = Image.open(path).convert("RGB").resize((224, 224))
    pixels = (np.asarray(picture, np.float32) / 255 - MEAN) / DEVIATION
    return pixels.transpose(2, 0, 1)[None].astype(np.float32)


def labels(endpoint: str, target_model: str | None, pixels: npt.NDArray[np.float32]) -> list[str]:
    """Return the three best classes as SCORE:INDEX:LABEL, with boto3 and tritonclient."""
    pixels_input = InferInput("INPUT__0", list(pixels.shape), "FP32")
    pixels_input.set_data_from_numpy(pixels, binary_data=True)
    output = InferRequestedOutput("OUTPUT__0", binary_data=True, class_count=3)
    body, header_length = InferenceServerClient.generate_request_body(
        [pixels_input], outputs=[output]
    )
    arguments: dict[str, Any] = {"TargetModel": target_model} if target_model else {}
    response = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint, ContentType=f"{BINARY}{header_length}", Body=body, **arguments
    )
    result = InferenceServerClient.parse_response_body(
        response["Body"].read(), header_length=int(response["ContentType"].removeprefix(BINARY))
    )
    return [label.decode() for label in result.as_numpy("OUTPUT__0").reshape(-1)]


if __name__ == "__main__":
    main()
