"""Embed sentences, and print their similarity to the first sentence.

python docs/examples/minilm_sentences.py "A cat sleeps." "A kitten naps." --stage examples
"""

import argparse
import json

import boto3
import numpy as np

from endpoint_client import EndpointClient


def main() -> None:
    """Embed the sentences with endpoint_client and with boto3."""
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
    print(f"boto3: largest difference {np.max(np.abs(np.array(vectors) - embeddings)):.0e}")


def invoke_with_boto3(endpoint: str, target_model: str, sentences: list[str]) -> list[list[float]]:
    """Invoke the model with JSON and boto3 only; return one vector per sentence."""
    shape = [len(sentences), 1]
    payload = {"inputs": [{"name": "TEXT", "shape": shape, "datatype": "BYTES", "data": sentences}]}
    response = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        TargetModel=target_model,
        ContentType="application/json",
        Body=json.dumps(payload),
    )
    (output,) = json.loads(response["Body"].read())["outputs"]
    rows: list[list[float]] = np.reshape(output["data"], output["shape"]).tolist()
    return rows


if __name__ == "__main__":
    main()
