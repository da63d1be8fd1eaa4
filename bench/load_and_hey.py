"""Compare the load generator with hey against one endpoint: `python -m bench.load_and_hey`.

Starts a local SageMaker whose Triton has a model of a fixed service time, and which checks no
signature, as hey signs none. Exit code 1 where a rate differs by more than a tenth; nothing is
measured without hey.
"""

import asyncio
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
from itertools import repeat
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import boto3
import numpy as np

from cli.load.mix import ModelTarget
from cli.load.request_inputs import Request
from cli.load.step import closed_loop
from endpoint_client import AsyncEndpointClient, EndpointClient
from local_sagemaker import Folder, client_environment, down, up

SECONDS, MOST, TURNS = 10, 0.1, 3
CALLERS = 2, 8
NAME, BUCKET, ARCHIVE = "dev-text", "bench-models", "m.tar.gz"
FILES = {
    "m/config.pbtxt": """
backend: "python"
max_batch_size: 0
input [ { name: "X" data_type: TYPE_FP32 dims: [ 1 ] } ]
output [ { name: "Y" data_type: TYPE_FP32 dims: [ 1 ] } ]
instance_group [ { kind: KIND_CPU count: 8 } ]
""",
    "m/1/model.py": """
import time
import triton_python_backend_utils as pb_utils


class TritonPythonModel:
    def execute(self, requests):
        time.sleep(0.05)
        arrays = [pb_utils.get_input_tensor_by_name(one, "X").as_numpy() for one in requests]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("Y", array)]) for array in arrays]
""",
}
TENSORS = {
    key: [{"name": name, "datatype": "FP32", "shape": [1]}]
    for key, name in {"inputs": "X", "outputs": "Y"}.items()
}
ENTRY = {"model": "m", "version": "0", "endpoint": NAME, "target_model": ARCHIVE}


def deploy() -> None:
    """Make the endpoint and its catalog entry."""
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        for name, text in FILES.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text.encode()))
    s3, sagemaker = boto3.client("s3"), boto3.client("sagemaker")
    s3.create_bucket(Bucket=BUCKET)
    s3.put_object(Bucket=BUCKET, Key=ARCHIVE, Body=content.getvalue())
    environment = {"SAGEMAKER_TRITON_LOG_VERBOSE": "false"}
    container: Any = {"Image": "triton", "Mode": "MultiModel", "ModelDataUrl": f"s3://{BUCKET}/"}
    container["Environment"] = {**environment, "SAGEMAKER_TRITON_PING_MODE": "live"}
    sagemaker.create_model(ModelName=NAME, PrimaryContainer=container)
    variant: Any = {"VariantName": "AllTraffic", "ModelName": NAME, "InstanceType": "ml.m5.xlarge"}
    variants: Any = [{**variant, "InitialInstanceCount": 1}]
    sagemaker.create_endpoint_config(EndpointConfigName=NAME, ProductionVariants=variants)
    sagemaker.create_endpoint(EndpointName=NAME, EndpointConfigName=NAME)
    sagemaker.get_waiter("endpoint_in_service").wait(EndpointName=NAME, WaiterConfig={"Delay": 1})
    value = json.dumps({**ENTRY, "signature": {**TENSORS, "max_batch_size": 0}})
    boto3.client("ssm").put_parameter(Name="/triton/dev/text/m", Value=value, Type="String")


async def generated(callers: int) -> float:
    """Return the requests a second of the load generator."""
    request = Request(ModelTarget(NAME, "m"), {"X": np.ones(1, np.float32)})
    async with AsyncEndpointClient(EndpointClient(stage="dev", endpoint="text")) as client:

        async def send(sent: Request) -> object:
            return await client.invoke(sent.target.model, sent.inputs)

        step = await closed_loop(send, repeat(request), callers, SECONDS, 0.01)
    assert not step.errors, step.first_error
    return step.achieved_rps


def of_hey(hey: str, callers: int) -> float:
    """Return the requests a second of hey."""
    body = json.dumps({"inputs": [{**TENSORS["inputs"][0], "data": [1]}]})
    url = f"{os.environ['AWS_ENDPOINT_URL']}/endpoints/{NAME}/invocations"
    command = [hey, "-z", f"{SECONDS}s", "-c", f"{callers}", "-m", "POST", "-d", body]
    command += ["-T", "application/json", "-H", f"X-Amzn-SageMaker-Target-Model: {ARCHIVE}", url]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", printed)
    assert rate, printed
    assert set(re.findall(r"\[(\d+)\]\t\d+ responses", printed)) == {"200"}, printed
    return float(rate[1])


def main() -> int:
    """Print a line for each number of callers; return the exit code."""
    hey = shutil.which("hey")
    if hey is None:
        print("hey is not installed: apt-get install hey")
        return 0
    worst = 0.0
    with TemporaryDirectory() as scratch:
        folder = Folder(Path(scratch))
        os.environ.update(client_environment(up(folder), folder))
        try:
            deploy()
            of_hey(hey, 1)  # loads the model
            for callers in CALLERS:  # the best of turns: what else the machine does only slows
                turns = [
                    (asyncio.run(generated(callers)), of_hey(hey, callers)) for _ in range(TURNS)
                ]
                ours, theirs = map(max, zip(*turns, strict=True))
                difference = ours / theirs - 1
                worst = max(worst, abs(difference))
                print(f"{callers} callers: {ours:.1f}/s, hey {theirs:.1f}/s: {difference:+.1%}")
        finally:
            down(folder)
    return int(worst > MOST)


if __name__ == "__main__":
    sys.exit(main())
