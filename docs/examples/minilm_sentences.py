"""Sentences to embeddings, and how alike they are.

python docs/examples/minilm_sentences.py "A cat sleeps." "A kitten naps." --stage examples
"""

import argparse
import json

import boto3
import numpy as np

from endpoint_client import EndpointClient


def main() -> None:
    """Ask for the sentences in both ways."""
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
    for sentence, alike in zip(options.sentences, embeddings @ embeddings[0], strict=True):
        print(f"  {alike:6.3f}  {sentence}")

    entry = client.resolve("minilm")
    assert entry.target_model is not None
    same = with_boto3(entry.endpoint, entry.target_model, options.sentences)
    print(f"boto3: largest difference {np.max(np.abs(np.array(same) - embeddings)):.0e}")


def with_boto3(endpoint: str, target_model: str, sentences: list[str]) -> list[list[float]]:
    """Ask in JSON, with nothing but boto3; return one vector a sentence."""
    shape = [len(sentences), 1]
    payload = {"inputs": [{"name": "TEXT", "shape": shape, "datatype": "BYTES", "data": sentences}]}
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        TargetModel=target_model,
        ContentType="application/json",
        Body=json.dumps(payload),
    )
    (output,) = json.loads(answer["Body"].read())["outputs"]
    rows: list[list[float]] = np.reshape(output["data"], output["shape"]).tolist()
    return rows


if __name__ == "__main__":
    main()
