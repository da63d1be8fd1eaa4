"""Deploy MiniLM on the local SageMaker, invoke it, compare its answer, and clean up."""

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from typing import Any

import numpy as np
import numpy.typing as npt

import local_sagemaker
from cli.deploy import bootstrap, run_cdk
from cli.errors import CommandError
from cli.interrupts import INTERRUPTS
from cli.parsers import add_command
from delivery.steps import step
from endpoint_client import CatalogEntry, EndpointClient
from local_sagemaker import REGION, Folder, client_environment
from model_build.commands.arguments import Commands

STAGE, ENDPOINT, MODEL = "local", "text", "minilm"
REFERENCE_MODULE = "models.minilm.tests.reference"
ALLOWED_DIFFERENCE = 1e-5
SENTENCES = [
    "That is a happy person",
    "That is a very happy person",
    "Today is a sunny day",
    "Der Himmel ist heute blau ☀",
]
WARM_CALLS = 20

Array = npt.NDArray[Any]


def add_to(commands: Commands) -> None:
    """Add the command."""
    parser = add_command(commands, "demo", run, __doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running")


def run(options: argparse.Namespace) -> int:
    """Run the demo; return the exit code."""
    folder, keep = Folder.default(), False
    with step("start the local SageMaker on loopback"):
        running = local_sagemaker.up(folder, ends_with_caller=not options.keep)
    os.environ.update(client_environment(running, folder))
    try:
        with local_sagemaker.while_running(folder, running):
            _deploy_and_invoke(folder)
            if not options.keep:
                with step("cdk destroy"):
                    assembly = str(folder.root / "cdk.out")  # as cdk diff has synthesized it
                    run_cdk("destroy", STAGE, "--all", "--force", "--app", assembly, local=folder)
        keep = options.keep
    finally:
        if not keep:
            for number in INTERRUPTS:  # a second Ctrl-C must not leave processes running
                signal.signal(number, signal.SIG_IGN)
            with step("stop the local SageMaker"):
                local_sagemaker.down(folder)
    if keep:
        print(KEEP_MESSAGE.format(url=running.url, page=running.page))
    return 0


def _deploy_and_invoke(folder: Folder) -> None:
    with step("cdk bootstrap"):
        bootstrap(REGION, folder)
    with step("cdk deploy: bucket, build of the model, endpoint, catalog"):
        run_cdk("deploy", STAGE, "--all", "--require-approval", "never", local=folder)
    with step(f"invoke {MODEL} by endpoint_client"):
        entry, embeddings, seconds = _invoke()
    reference = [sys.executable, "-m", REFERENCE_MODULE, json.dumps(SENTENCES)]
    with subprocess.Popen(reference, stdout=subprocess.PIPE, text=True) as transformers:
        with step("cdk diff: the deployed stacks equal the code"):
            run_cdk("diff", STAGE, "--fail", local=folder)
        with step("run the same weights in transformers, in parallel with cdk diff"):
            expected, _ = transformers.communicate()
    if transformers.returncode:
        raise CommandError(
            f"python -m {REFERENCE_MODULE} ended with status {transformers.returncode}"
        )
    _report(entry, seconds, embeddings, np.array(json.loads(expected), np.float32))


def _invoke() -> tuple[CatalogEntry, Array, list[float]]:
    """Return the catalog entry, the embeddings of `SENTENCES`, and the seconds of each call."""
    with EndpointClient(stage=STAGE, endpoint=ENDPOINT) as client:
        entry, seconds, embeddings = client.resolve(MODEL), list[float](), np.empty(0)
        for _ in range(1 + WARM_CALLS):
            start = time.perf_counter()
            embeddings = client.invoke(MODEL, {"TEXT": SENTENCES})["EMBEDDING"]
            seconds.append(time.perf_counter() - start)
    return entry, embeddings, seconds


def _report(entry: CatalogEntry, seconds: list[float], embeddings: Array, expected: Array) -> None:
    difference = float(np.abs(embeddings - expected).max())
    first, *warm = seconds
    print(f"\n  {'cosine similarity':30}" + "".join(f"{n + 1:8}" for n in range(len(SENTENCES))))
    for number, (sentence, row) in enumerate(
        zip(SENTENCES, embeddings @ embeddings.T, strict=True), 1
    ):
        print(f"  {number} {sentence:28}" + "".join(f"{value:8.3f}" for value in row))
    print(f"""
  model                   {MODEL}, version {entry.version} on endpoint {entry.endpoint}
  latency                 cold {first:.2f} s (download, load, first answer), \
warm {statistics.median(warm) * 1e3:.1f} ms (median of {WARM_CALLS})
  Triton against PyTorch  {difference:.1e} largest difference ({ALLOWED_DIFFERENCE:.0e} allowed)
""")
    if not difference <= ALLOWED_DIFFERENCE:
        raise CommandError(
            "the endpoint's outputs differ from those of transformers by more than "
            f"{ALLOWED_DIFFERENCE:.0e}"
        )


KEEP_MESSAGE = """
The local SageMaker keeps running at {url}.
  watch            {page} in a browser
  invoke           ./tritonsm invoke local text minilm --input TEXT=hello --local
  look             ./tritonsm status --local
  set up a shell   eval "$(./tritonsm env)"
  change           edit models/minilm/, then: node_modules/.bin/cdk diff -c stage=local
  stop             ./tritonsm down"""
