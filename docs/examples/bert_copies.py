"""Invoke several copies of BERT twice: the first call loads the copy, the second does not.

    for n in 0 1 2; do cp -r models/bert /tmp/bert-$n; done
    for n in 0 1 2; do tritonsm publish examples text /tmp/bert-$n; done
    python docs/examples/bert_copies.py "Triton serves" tokenizer.json

`tokenizer.json` is BERT's tokenizer, also in minilm's archive: tokenizer/1/tokenizer.json.
"""

import argparse
import json
import re
import time

import boto3
import numpy as np
import numpy.typing as npt
from tokenizers import Tokenizer

from endpoint_client import EndpointClient

TOKENS = 128

Inputs = dict[str, npt.NDArray[np.int32]]


def main() -> None:
    """Invoke every copy twice, and the first copy once more with boto3."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text")
    parser.add_argument("tokenizer", help="path of a tokenizer.json")
    parser.add_argument("--stage", default="examples")
    parser.add_argument("--endpoint", default="text")
    options = parser.parse_args()

    inputs = tokenize(options.text, Tokenizer.from_file(options.tokenizer))
    client = EndpointClient(stage=options.stage, endpoint=options.endpoint)
    copies = [name for name in client.models() if re.fullmatch(r"bert-[0-9]+", name)]
    for call in ("loads it", "is loaded"):
        for name in copies:
            start = time.perf_counter()
            pooled = client.invoke(name, inputs)["pooled_output"]
            milliseconds = 1000 * (time.perf_counter() - start)
            print(f"{name} {call:9} {milliseconds:8.1f} ms  {list(pooled.shape)}")

    entry = client.resolve(copies[0])
    assert entry.target_model is not None
    vector = invoke_with_boto3(entry.endpoint, entry.target_model, inputs)
    print("boto3 as JSON:", len(vector), "numbers, as many as above")


def tokenize(text: str, tokenizer: Tokenizer) -> Inputs:
    """Return BERT's inputs for a text: token ids and mask, INT32 [1, 128]."""
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    encoded = tokenizer.encode(text)
    return {
        "token_ids": np.array([encoded.ids], np.int32),
        "attn_mask": np.array([encoded.attention_mask], np.int32),
    }


def invoke_with_boto3(endpoint: str, target_model: str, inputs: Inputs) -> list[float]:
    """Invoke the model with JSON and boto3 only; return the pooled vector."""
    payload = {
        "inputs": [
            {"name": name, "shape": list(array.shape), "datatype": "INT32", "data": array.tolist()}
            for name, array in inputs.items()
        ]
    }
    response = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        TargetModel=target_model,
        ContentType="application/json",
        Body=json.dumps(payload),
    )
    outputs = {
        output["name"]: output["data"] for output in json.loads(response["Body"].read())["outputs"]
    }
    vector: list[float] = outputs["pooled_output"]
    return vector


if __name__ == "__main__":
    main()
