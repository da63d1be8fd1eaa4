"""Build a model for this machine's CPU, load it into a Triton server, and invoke it.

Archives are cached by the model's digest: an unchanged model is built once. Exit code 1: the model
failed, an output differs from its declaration in config.pbtxt, or from the model's golden.json.
"""

import argparse
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from tritonclient.utils import np_to_triton_dtype

from cli import inputs, onnx_reference, outputs, request_parameters
from cli.errors import CommandError
from cli.external_triton import ExternalTriton
from cli.local_option import RELEASE
from cli.parsers import add_command
from cli.progress import Steps
from cli.request_parameters import SEQUENCE
from endpoint_client import CatalogEntry, Tensor
from endpoint_client._payload import Array, decode, encode, to_arrays
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.serving import TritonServer, serve
from model_build import BuildTarget
from model_build.build import build
from model_build.checked_model import CheckedModel, check_model
from model_build.commands.arguments import Commands, add_model, parse_target
from model_build.declared_outputs import declared_outputs
from model_build.digest import VERSION_DIGITS
from model_build.engines.accepted_results import FolderResultStore
from model_build.engines.local_gpu import LocalGpu
from model_build.engines.provider import Engines
from model_build.export.gate import OutputTensor
from model_build.export.weights import CACHE
from model_build.findings import Finding
from model_build.publishing.folder import save_archive
from model_build.repository import Model, Repository
from model_build.source import ModelSource
from model_build.triton_load import skip_load
from plan import golden
from platform_facts.rules.bucket_keys import manifest_key

ARCHIVE_CACHE = CACHE / "tried"
WARM_CALLS = 20


def add_to(commands: Commands) -> None:
    """Add the command."""
    examples = (
        "try models/minilm",
        "try models/minilm --input TEXT=hello",
        "try models/inception --input INPUT=@docs/examples/picture.jpg",
    )
    parser = add_command(commands, "try", run, __doc__, examples=examples)
    add_model(parser)
    inputs.add_option(parser)
    request_parameters.add_option(parser)
    parser.add_argument(
        "--server",
        metavar="URL",
        help="a Triton in SageMaker's multi-model mode that you have started (docs/models.md), "
        "instead of one that this command starts; the archive is built for --target",
    )
    parser.add_argument(
        "--target",
        type=parse_target,
        default=BuildTarget(release=RELEASE),
        metavar="TARGET",
        help="the build target for --server: cpu-RELEASE or cuda-RELEASE-smCAPABILITY; default: "
        f"cpu-{RELEASE}",
    )
    parser.add_argument("--json", action="store_true", help="write JSON to standard output")


def run(options: argparse.Namespace) -> int:
    """Build, load and invoke the model; return the exit code."""
    model: ModelSource = options.model
    checked = check_model(model)
    repository = Repository.read(model.folder)
    parameters = request_parameters.parse(options.parameter)
    if checked.is_decoupled:
        raise CommandError(
            f"{repository.entry.field_location('model_transaction_policy')}: {checked.name} is "
            "decoupled, and try reads one response: serve it with hosting: single-model and "
            "server: { inference_type: generate_stream }, and run tritonsm invoke STAGE ENDPOINT "
            f"{checked.name} --stream --local"
        )
    if repository.stateful and SEQUENCE not in parameters:
        raise CommandError(
            f"{repository.stateful.field_location('sequence_batching')}: sequence_batching: the "
            "request needs a sequence: add --parameter sequence_id=1 --parameter "
            "sequence_start=true"
        )
    entry, sample = catalog_entry(checked), read_sample(checked)
    request = to_arrays(entry, inputs.request_inputs(options.input, entry, sample))
    body, content_type = encode(entry, request, parameters=parameters)
    steps = Steps()
    target = options.target
    if not options.server:
        target = local_target()
    archive = ARCHIVE_CACHE / str(target) / checked.target_model
    if not archive.is_file():
        with steps.step("build", f"{checked.name} for {target}"):
            _build(model, archive, target, steps)
    with ExitStack() as stack:
        triton: TritonServer | ExternalTriton
        if options.server:
            triton = ExternalTriton(options.server)
            with steps.step("load", f"{archive.name} at {options.server}"):
                stack.enter_context(triton.load(archive))
        else:
            with steps.step("start", "a Triton"):
                triton = stack.enter_context(serve(archive.parent))
            with steps.step("load", archive.name):
                triton.load(archive.name)
        answer, times = _invoke(triton, archive.name, body, content_type)
        if isinstance(triton, TritonServer):
            for warning in triton.python_warnings():
                print(f"warning: {warning}", file=sys.stderr)
        outputs.show(answer, steps.seconds | times, as_json=options.json)
    problems = [str(finding) for finding in _output_findings(repository.entry, answer, request)]
    if file := onnx_reference.copied_file(repository.entry):
        differences = [*onnx_reference.differences(repository.entry, file, request, answer)]
        problems += differences
        if not differences:
            print(f"{file.name} returns the same in ONNX Runtime itself", file=sys.stderr)
    if sample is not None and not options.input:
        problems += [f"{golden.FILE}: {difference}" for difference in sample.differences(answer)]
    for problem in problems:
        print(f"error: {problem}", file=sys.stderr)
    return int(bool(problems))


def _output_findings(
    model: Model, answer: dict[str, Array], request: inputs.Inputs
) -> Iterator[Finding]:
    """Return findings for outputs that differ from config.pbtxt."""
    outputs = [
        OutputTensor(name, np_to_triton_dtype(array.dtype), array.shape)
        for name, array in answer.items()
    ]
    batch = len(next(iter(request.values()))) if request else None
    return declared_outputs(model, outputs, batch=batch)


def read_sample(model: CheckedModel) -> golden.Golden | None:
    """Return the golden.json of a model, None if there is none. Raise `InvalidGolden`."""
    return inputs.read_sample(model.folder.resolve().parent, model.name)


def local_engines() -> Engines:
    """Return a provider of engines that compiles on this machine's GPU."""
    return Engines(FolderResultStore(CACHE / "engines"), LocalGpu())


def local_target() -> BuildTarget:
    """Return the target of builds for this machine's Triton."""
    return BuildTarget(release=RELEASE).with_python(find_triton().model_python.version)


def catalog_entry(model: CheckedModel) -> CatalogEntry:
    """Return the catalog entry that a deploy would write for the model.

    Raise `CommandError` if config.pbtxt leaves inputs or outputs to Triton.
    """
    for kind, declared in (("input", model.signature.inputs), ("output", model.signature.outputs)):
        if not declared:
            raise CommandError(
                f"{model.name}: config.pbtxt declares no {kind}, and clients take requests from "
                f"it: add {kind} [ {{ name data_type dims }} ]"
            )
    inputs, outputs = (
        tuple(Tensor(tensor.name, tensor.datatype, tuple(tensor.shape)) for tensor in tensors)
        for tensors in (model.signature.inputs, model.signature.outputs)
    )
    return CatalogEntry(
        model.name,
        model.version,
        "try",
        model.target_model,
        inputs,
        outputs,
        model.signature.max_batch_size,
    )


def _build(model: ModelSource, archive: Path, target: BuildTarget, progress: Steps) -> None:
    """Write the archive, and delete archives of the model's earlier digests."""
    engines = local_engines()
    with build(model, name=model.name, target=target, progress=progress, engines=engines) as built:
        load = skip_load("tritonsm try loads it itself")
        save_archive(built, archive, load=load, progress=progress)
    for earlier in archive.parent.glob(f"{model.name}-{'[0-9a-f]' * VERSION_DIGITS}.*"):
        if earlier not in (archive, archive.with_name(manifest_key(archive.name))):
            earlier.unlink()


def _invoke(
    triton: TritonServer | ExternalTriton, target_model: str, body: bytes, content_type: str
) -> tuple[dict[str, Array], dict[str, float]]:
    """Return the answer, and the duration of the first call and of warm calls, in seconds."""
    times = []
    for _ in range(1 + WARM_CALLS):
        start = time.perf_counter()
        response = triton.invoke(target_model, body, content_type)
        times.append(time.perf_counter() - start)
    first, *warm = times
    durations = {"first call": first, f"median of {WARM_CALLS} warm calls": statistics.median(warm)}
    return decode(bytearray(response.body), response.headers["Content-Type"]), durations
