"""A text to every copy of BERT in turn: the first call loads it, the second finds it loaded.

    for n in 0 1 2; do cp -r models/bert /tmp/bert-$n; done
    for n in 0 1 2; do tritonsm publish examples text /tmp/bert-$n; done
    python docs/examples/bert_copies.py "Triton serves" tokenizer.json

`tokenizer.json` is BERT's (the archive of minilm has it: tokenizer/1/tokenizer.json).
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
    """Ask every copy twice, and the first one once more with boto3 alone."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("text")
    parser.add_argument("tokenizer", help="path of a tokenizer.json")
    parser.add_argument("--stage", default="examples")
    parser.add_argument("--endpoint", default="text")
    options = parser.parse_args()

    inputs = tokenised(options.text, Tokenizer.from_file(options.tokenizer))
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
    vector = with_boto3(entry.endpoint, entry.target_model, inputs)
    print("boto3 as JSON:", len(vector), "numbers, as many as above")


def tokenised(text: str, tokenizer: Tokenizer) -> Inputs:
    """Return a text as BERT takes it: token ids and mask, INT32 [1, 128]."""
    tokenizer.enable_truncation(TOKENS)
    tokenizer.enable_padding(length=TOKENS)
    encoded = tokenizer.encode(text)
    return {
        "token_ids": np.array([encoded.ids], np.int32),
        "attn_mask": np.array([encoded.attention_mask], np.int32),
    }


def with_boto3(endpoint: str, target_model: str, inputs: Inputs) -> list[float]:
    """Ask in JSON, with nothing but boto3; return the pooled vector."""
    payload = {
        "inputs": [
            {"name": name, "shape": list(each.shape), "datatype": "INT32", "data": each.tolist()}
            for name, each in inputs.items()
        ]
    }
    answer = boto3.client("sagemaker-runtime").invoke_endpoint(
        EndpointName=endpoint,
        TargetModel=target_model,
        ContentType="application/json",
        Body=json.dumps(payload),
    )
    outputs = {
        output["name"]: output["data"] for output in json.loads(answer["Body"].read())["outputs"]
    }
    vector: list[float] = outputs["pooled_output"]
    return vector


if __name__ == "__main__":
    main()
