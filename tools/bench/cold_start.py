"""The first call of MiniLM on a multi-model endpoint, split into its parts.

"Download and unpack" and "load" are the means of SageMaker's metrics ModelDownloadingTime and
ModelLoadingTime, which the local SageMaker rounds to two digits; "first answer" is the rest of the
call. The floor is a download with boto3 and `tar -xzf`, a load by Triton, and a call of Triton.
"""

import json
import shutil
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import count
from pathlib import Path
from statistics import fmean
from tempfile import TemporaryDirectory

import boto3

from local_sagemaker.serving import TritonServer, serve
from model_build import BuildTarget
from tools.bench.endpoint import boto3_call, load_model
from tools.bench.local_endpoint import NAME, host, local_sagemaker
from tools.bench.turns import Results, Turn, command, timed, total

TURNS = 3
MODEL = "minilm.tar.gz"
TENSOR = {"name": "TEXT", "shape": [1, 1], "datatype": "BYTES", "data": ["Today is a sunny day"]}
BODY = json.dumps({"inputs": [TENSOR]}).encode()
METRICS = {"download and unpack": "ModelDownloadingTime", "load": "ModelLoadingTime"}


def run(results: Results) -> None:
    """Measure first calls of copies of one archive, and the steps of the floor."""
    with TemporaryDirectory() as scratch, local_sagemaker() as (_, running):
        target = BuildTarget.parse("cpu-24.09").with_python(running.python)
        folder = Path(scratch, "archives")
        program = sys.executable, "-m", "model_build", "build", "models/minilm"
        command(*program, "--target", target, "--output", folder)
        (archive,) = folder.glob("*.tar.gz")
        archive.rename(folder / MODEL)
        host({MODEL: (folder / MODEL).read_bytes()})
        calls, call = count(), boto3_call(BODY, "application/json")

        def first_call() -> Turn:
            key = f"copy-{next(calls)}.tar.gz"
            boto3.client("s3").upload_file(str(folder / MODEL), NAME, key)
            return timed(partial(call, key))

        with serve(folder) as triton:
            steps = _floor_steps(triton, load_model(triton, MODEL), Path(scratch, "floor"))
            floor_turns: list[dict[str, Turn]] = []

            def floor() -> Turn:
                floor_turns.append({part: timed(step) for part, step in steps.items()})
                return total(*floor_turns[-1].values())

            results.alternate("whole", {"InvokeEndpoint": first_call, "floor": floor}, TURNS)
        duration = fmean(turn["wall s"] for turn in results.rows[0]["turns"])
        parts_of_call = {
            part: _mean_seconds(metric, len(floor_turns)) for part, metric in METRICS.items()
        }
        parts_of_call["first answer"] = duration - sum(parts_of_call.values())
        for part, seconds in parts_of_call.items():
            results.add(part, "InvokeEndpoint", {"wall s": seconds})
            results.add(
                part, "floor", {"wall s": fmean(turn[part]["wall s"] for turn in floor_turns)}
            )


def _mean_seconds(metric: str, count: int) -> float:
    """Wait until a metric has `count` values; return their mean in seconds."""
    now = datetime.now(UTC)
    while True:
        points = boto3.client("cloudwatch").get_metric_statistics(
            Namespace="AWS/SageMaker",
            MetricName=metric,
            Dimensions=[
                {"Name": "EndpointName", "Value": NAME},
                {"Name": "VariantName", "Value": "AllTraffic"},
            ],
            StartTime=now - timedelta(hours=2),
            EndTime=now + timedelta(hours=2),
            Period=60,
            Statistics=["SampleCount", "Sum"],
        )["Datapoints"]
        if sum(point["SampleCount"] for point in points) >= count:
            return float(sum(point["Sum"] for point in points)) / count / 1e6
        time.sleep(0.5)


def _floor_steps(triton: TritonServer, path: str, folder: Path) -> dict[str, Callable[[], object]]:
    """Return functions that download and unpack, load, and invoke the model, by part."""
    name = path.split("/")[2]
    model = {"model_name": name, "url": f"/opt/ml/models/{name}/model"}

    def fetch() -> None:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        boto3.client("s3").download_file(NAME, MODEL, str(folder / MODEL))
        command("tar", "-xzf", folder / MODEL, "-C", folder)
        request("DELETE", f"/models/{name}", b"")

    def request(method: str, path: str, body: bytes) -> None:
        headers = {"Content-Type": "application/json", "X-Amzn-SageMaker-Target-Model": MODEL}
        response = triton.server.triton.request(
            method, path, body=body, headers=headers, timeout=600
        )
        assert response.status == 200, response

    return {
        "download and unpack": fetch,
        "load": partial(request, "POST", "/models", json.dumps(model).encode()),
        "first answer": partial(triton.invoke, MODEL, BODY, "application/json"),
    }
