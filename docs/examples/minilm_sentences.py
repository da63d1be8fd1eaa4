"""Embed sentences, and print their similarity to the first sentence.

python docs/examples/minilm_sentences.py "A cat sleeps." "A kitten naps." --stage examples
"""

import argparse
from typing import Any

import boto3
import numpy as np
from tritonclient.http import InferenceServerClient, InferInput

from endpoint_client import EndpointClient

BINARY = "application/vnd.sagemaker-triton.binary+json;json-header-size="


def main() -> None:
    """Embed the sentences with endpoint_client, and with tritonclient and boto3."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("sentences", nargs="+")
    parser.add_argument("--stage", default="examples")
    parser.add_argument("--endpoint", default="text")
    options = parser.parse_args()

    client = EndpointClient(stage=options.stage, endpoint=options.endpoint)
    embeddings = client.invoke("minilm", {"TEXT": options.sentences})["EMBEDDING"]
    print("endpoint_client:", list(embeddings.shape))
    for sentence, similarity in zip(options.sentences, embeddings @ embeddings[0], strict=True):
        print(f"  {similarity:6.3f}  {sentence}")

    entry = client.resolve("minilm")
    assert entry.target_model is not None
    vectors = invoke_with_boto3(entry.endpoint, entry.target_model, options.sentences)
    print(f"boto3: largest difference {np.max(np.abs(vectors - embeddings)):.0e}")


def invoke_with_boto3(endpoint: str, target_model: str, sentences: list[str]) -> Any:
    """Send a binary request of tritonclient with boto3; return one vector per sentence."""
    text = InferInput("TEXT", [len(sentences), 1], "BYTES")
    text.set_data_from_numpy(np.array(sentences, object)[:, None])
    body, header_length = InferenceServerClient.generate_request_body([text])
    response = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        TargetModel=target_model,
        ContentType=f"{BINARY}{header_length}",
        Body=body,
    )
    header_length = int(response["ContentType"].removeprefix(BINARY))
    answer = response["Body"].read()
    result = InferenceServerClient.parse_response_body(answer, header_length=header_length)
    return result.as_numpy("EMBEDDING")


if __name__ == "__main__":
    main()
