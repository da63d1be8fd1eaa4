"""Compare the load generator with hey against one endpoint: `python -m bench.load_and_hey`.

The model responds after 100 ms, on a local SageMaker, which accepts hey's unsigned requests. The
exit code is 1 if a rate differs by more than a tenth. Without hey, nothing is measured.
"""

import asyncio
import json
import os
import re
import shutil
import subprocess
import sys
from itertools import repeat

import numpy as np

from bench.endpoint import publish
from bench.local_endpoint import NAME, echo_archive, host, local_sagemaker
from cli.load.mix import ModelTarget
from cli.load.request_inputs import Request
from cli.load.step import closed_loop
from endpoint_client import AsyncEndpointClient, EndpointClient

SECONDS, MAX_DIFFERENCE, TURNS = 10, 0.1, 3
CALLERS = 2, 4
ARCHIVE, INSTANCES, MILLISECONDS = "m.tar.gz", 8, 100


async def measure_load_generator(callers: int) -> float:
    """Return the requests per second of the load generator."""
    request = Request(ModelTarget(NAME, "m"), {"X": np.array([MILLISECONDS], np.uint8)})
    async with AsyncEndpointClient(EndpointClient(stage="dev", endpoint=NAME)) as client:

        async def send(request: Request) -> object:
            return await client.invoke(request.target.model, request.inputs)

        step = await closed_loop(send, repeat(request), callers, SECONDS, 0.01)
    assert not step.errors, step.first_error
    return step.achieved_rps


def measure_hey(hey: str, callers: int) -> float:
    """Return the requests per second of hey."""
    tensor = {"name": "X", "datatype": "UINT8", "shape": [1], "data": [MILLISECONDS]}
    body = json.dumps({"inputs": [tensor]})
    url = f"{os.environ['AWS_ENDPOINT_URL']}/endpoints/{NAME}/invocations"
    command = [hey, "-z", f"{SECONDS}s", "-c", f"{callers}", "-m", "POST", "-d", body]
    command += ["-T", "application/json", "-H", f"X-Amzn-SageMaker-Target-Model: {ARCHIVE}", url]
    output = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    assert rate, output
    assert set(re.findall(r"\[(\d+)\]\t\d+ responses", output)) == {"200"}, output
    return float(rate[1])


def main() -> int:
    """Print a line for each number of callers; return the exit code."""
    hey = shutil.which("hey")
    if hey is None:
        print("hey is not installed: apt-get install hey")
        return 0
    worst = 0.0
    with local_sagemaker():
        host({ARCHIVE: echo_archive(INSTANCES)})
        publish(ARCHIVE)
        measure_hey(hey, 1)  # loads the model
        for callers in CALLERS:
            turns = [
                (asyncio.run(measure_load_generator(callers)), measure_hey(hey, callers))
                for _ in range(TURNS)
            ]
            ours, heys = map(max, zip(*turns, strict=True))  # other processes only slow a turn down
            difference = ours / heys - 1
            worst = max(worst, abs(difference))
            print(f"{callers} callers: {ours:.1f}/s, hey {heys:.1f}/s: {difference:+.1%}")
    return int(worst > MAX_DIFFERENCE)


if __name__ == "__main__":
    sys.exit(main())
