"""Deploy MiniLM on the local SageMaker, ask it, compare it, and clean up."""

import argparse
import json
import os
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path
from types import FrameType

import numpy as np

import cdk_cli
import local_sagemaker
from cli.demo.building import newest_line
from cli.demo.invocations import SENTENCES, WARM_CALLS, Answers, Array, ask
from cli.errors import CommandError
from local_sagemaker import (
    ACCOUNT,
    REGION,
    Folder,
    LocalSageMakerError,
    client_environment,
)
from model_build.commands.arguments import Commands
from release.delivery.steps import step

STAGE, ENDPOINT, MODEL = "local", "text", "minilm"
REFERENCE = "models.minilm.tests.reference"
ALLOWED_DIFFERENCE = 1e-5


def add_to(commands: Commands) -> None:
    """Add the command `demo`; its `run` returns the exit code."""
    parser = commands.add_parser("demo", description=__doc__)
    parser.add_argument("--keep", action="store_true", help="leave everything running")
    parser.set_defaults(run=run_demo)


def run_demo(options: argparse.Namespace) -> int:
    """Run the demo; return its exit code."""
    signal.signal(signal.SIGTERM, _interrupt)
    folder = Folder.default()
    try:
        with step("start the local SageMaker on loopback"):
            running = local_sagemaker.up(folder)
        os.environ.update(client_environment(running, folder))
        try:
            with local_sagemaker.while_running(folder, running):
                _deploy_and_ask(folder)
                if not options.keep:
                    _destroy(folder)
        except BaseException:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # a second Ctrl-C would leave it half-done
            local_sagemaker.down(folder)
            raise
        if options.keep:
            print(KEPT.format(url=running.url, page=running.page))
        else:
            with step("stop the local SageMaker"):
                local_sagemaker.down(folder)
    except (CommandError, LocalSageMakerError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\ninterrupted: everything that was started is stopped", file=sys.stderr)
        return 130
    return 0


def _interrupt(_: int, __: FrameType | None) -> None:
    raise KeyboardInterrupt


def _deploy_and_ask(folder: Folder) -> None:
    cdk = partial(_cdk, folder)
    # Elsewhere, since the CLI would synthesise an app that is here, which bootstrap needs not.
    cdk("cdk bootstrap", "bootstrap", f"aws://{ACCOUNT}/{REGION}", cwd=folder.root)
    cdk(
        "cdk deploy: bucket, build of the model, endpoint, catalog",
        *("deploy", "--all", "--require-approval", "never", *_app(folder)),
    )
    with step(f"invoke {MODEL} through sagemaker-runtime, as JSON and in binary"):
        answers = ask(stage=STAGE, endpoint=ENDPOINT, model=MODEL)
    with step("run the same weights in transformers"):
        expected = _embeddings_of_transformers()
    _report(answers, expected)
    cdk("cdk diff: the deployed stacks are what the code says", "diff", "--fail", *_app(folder))


def _embeddings_of_transformers() -> Array:
    finished = subprocess.run(
        [sys.executable, "-m", REFERENCE],
        input=json.dumps(SENTENCES),
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if finished.returncode:
        raise CommandError(f"python -m {REFERENCE} ended with status {finished.returncode}")
    return np.array(json.loads(finished.stdout), np.float32)


def _destroy(folder: Folder) -> None:
    app = "--app", str(_assembly(folder))
    _cdk(folder, "cdk destroy", "destroy", "--all", "--force", *app)


def _app(folder: Folder) -> list[str]:
    return ["-c", f"stage={STAGE}", "--output", str(_assembly(folder)), "--no-validation"]


def _assembly(folder: Folder) -> Path:
    return folder.root / "cdk.out"


def _cdk(
    folder: Folder, title: str, command: str, *arguments: str, cwd: Path | None = None
) -> None:
    with step(title):
        build = partial(newest_line, folder.builds)
        try:
            ended = cdk_cli.run(command, *arguments, title=title, cwd=cwd, build=build)
        except OSError as error:
            raise CommandError(f"{cdk_cli.CLI} cannot be started: {error.strerror}") from error
        if not ended.succeeded:
            reasons = "\n  ".join(ended.reasons)
            raise CommandError(
                f"{reasons}\n  Logs: {_here(folder.builds)} of builds, {_here(folder.instances)} "
                f"of Triton, {_here(folder.log)} of the emulator"
            )


def _here(path: Path) -> Path:
    return path.relative_to(Path.cwd())


def _report(answers: Answers, expected: Array) -> None:
    difference = float(np.abs(answers.binary - expected).max())
    payloads = float(np.abs(answers.binary - answers.json).max())
    print(f"\n  {'cosine similarity':30}" + "".join(f"{n + 1:8}" for n in range(len(SENTENCES))))
    for number, (sentence, row) in enumerate(
        zip(SENTENCES, answers.binary @ answers.binary.T, strict=True), 1
    ):
        print(f"  {number} {sentence:28}" + "".join(f"{value:8.3f}" for value in row))
    print(f"""
  model                   {MODEL}, version {answers.version} in {answers.parameter}
  latency                 cold {answers.cold:.2f} s (download, load, first answer), \
warm {answers.warm * 1e3:.1f} ms (median of {WARM_CALLS})
  JSON against binary     {payloads:.1e} largest difference
  Triton against PyTorch  {difference:.1e} largest difference ({ALLOWED_DIFFERENCE:.0e} allowed)
""")
    if not max(difference, payloads) <= ALLOWED_DIFFERENCE:
        raise CommandError("the endpoint's answers are too far from those of transformers")


KEPT = """
The local SageMaker keeps running at {url}.
  watch            {page} in a browser
  invoke           ./tritonsm invoke local text minilm --input TEXT=hello --local
  look             ./tritonsm status
  set up a shell   eval "$(./tritonsm env)"
  change           edit models/minilm/, then: node_modules/.bin/cdk diff -c stage=local
  stop             ./tritonsm down"""
