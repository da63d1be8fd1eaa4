"""Start of an instance: the Triton server for a variant and its Model."""

import itertools
import math
import shutil
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from local_sagemaker.dashboard_events import DashboardEvent, EventKind, OnEvent, ignore_event
from local_sagemaker.errors import ApiError, LocalSageMakerError
from local_sagemaker.hosting import archives, packages, sandbox, serve_script
from local_sagemaker.hosting.archives import S3Prefix
from local_sagemaker.hosting.capacity import MIB, Capacity
from local_sagemaker.hosting.container import ModelStep, Report
from local_sagemaker.hosting.copies import CopyHost, Slot
from local_sagemaker.hosting.instance import DOWNLOAD_FOLDERS, RunningServer
from local_sagemaker.hosting.model_store import ModelStore
from local_sagemaker.hosting.multi_model_container import LOAD_SECONDS, MultiModelContainer
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.hosting.single_model_container import SingleModelContainer
from local_sagemaker.hosting.triton import Triton
from local_sagemaker.prerequisites import TritonInstallation

if TYPE_CHECKING:
    from mypy_boto3_s3 import S3Client

MAX_LOGS = 50
"""Number of log files of ended servers that are not deleted; CloudWatch Logs has the lines too."""


@dataclass(frozen=True)
class Host:
    """Settings and services that all endpoints share.

    `max_processes` is the maximum number of processes per variant, `load_seconds` the timeout of a
    load, `capacities` the available instances by type. `report_model_step` is called with endpoint,
    variant, instance and step; `follow_log` with the log group, the log stream and the new server;
    `report_event` with events of instances and endpoints.
    """

    triton: TritonInstallation
    backends: Path
    folder: Path
    s3: "S3Client"
    max_processes: int
    report_model_step: Callable[[str, str, str, ModelStep], None] = lambda *_: None
    follow_log: Callable[[str, str, Triton], None] = lambda *_: None
    report_event: OnEvent = ignore_event
    load_seconds: float = LOAD_SECONDS
    capacities: Capacities = field(default_factory=Capacities)


_folder_numbers = itertools.count(1)

_COPY_EVENT_KINDS = {
    EventKind.INSTANCE_STARTED: EventKind.MODEL_LOADING,
    EventKind.INSTANCE_HEALTHY: EventKind.MODEL_LOADED,
    EventKind.INSTANCE_UNHEALTHY: EventKind.MODEL_UNHEALTHY,
    EventKind.INSTANCE_REPLACED: EventKind.MODEL_FAILED,
    EventKind.INSTANCE_LEAVING: EventKind.MODEL_UNLOADING,
    EventKind.INSTANCE_ENDED: EventKind.MODEL_UNLOADED,
}
"""Event kind of an instance -> event kind of a copy, which the dashboard shows as a model."""


def start_server(
    host: Host,
    endpoint: str,
    variant: dict[str, Any],
    model: dict[str, Any] | None,
    slot: Slot | None = None,
) -> RunningServer:
    """Start a server for an instance of a variant. Raise `LocalSageMakerError` on failure.

    If `model` is None, the instance hosts copies of inference components. If `slot` is set, the
    server is such a copy, and `variant` represents its component.

    The log group /aws/sagemaker/Endpoints/[EndpointName] and the stream
    [production-variant-name]/[instance-id] are from the developer guide, logging-cloudwatch. The
    stream name of a copy has no source.
    """
    name = variant["VariantName"]
    if slot:
        variant_name, instance_id = slot.host.variant, slot.host.id
        group = f"/aws/sagemaker/InferenceComponents/{name}"
        stream = f"{variant_name}/{instance_id}-{slot.number}"
    else:
        variant_name, instance_id = name, f"i-{uuid.uuid4().hex[:17]}"
        group, stream = f"/aws/sagemaker/Endpoints/{endpoint}", f"{name}/{instance_id}"
    location = endpoint, variant_name, instance_id

    def report_event(kind: EventKind, message: str) -> None:
        if slot:
            kind, message = _COPY_EVENT_KINDS[kind], f"{slot.name}: {message}"
        host.report_event(
            DashboardEvent(kind, message, *location, model=slot.name if slot else None)
        )

    server = _create_server(host, location, variant, model)
    if slot:
        memory, cpus = (
            int(slot.reservation.memory * MIB),
            slot.reservation.cpus or slot.host.resources.cpus,
        )
        server = replace(server, capacity=Capacity(memory, server.capacity.disk, cpus))
    if model is not None:
        host.follow_log(group, stream, server.triton)
    instance_type = variant.get("InstanceType", "an instance")
    subject = f"The container of {instance_type}" if model else instance_type
    report_event(EventKind.INSTANCE_STARTED, f"{subject} was started.")
    server_id = f"{instance_id}/{slot.name}" if slot else instance_id
    return replace(server, id=server_id, report_event=report_event)


def _create_server(
    host: Host,
    location: tuple[str, str, str],
    variant: dict[str, Any],
    model: dict[str, Any] | None,
) -> RunningServer:
    capacity = Capacity.for_variant(variant)
    folder = host.folder / f"{location[0]}-{variant['VariantName']}-{next(_folder_numbers)}"
    if model is None:
        copies: Any = CopyHost(location[2], variant)  # the instance itself gets no calls
        return RunningServer(copies, copies, folder, capacity)
    shutil.rmtree(folder, ignore_errors=True)
    _delete_old_logs(host.folder)
    folder.mkdir(parents=True, exist_ok=True)  # rmtree fails for some files of models
    definition = model["PrimaryContainer"]
    if definition.get("Mode", "SingleModel") == "MultiModel":
        report = partial(host.report_model_step, *location)
        return _create_multi_model_server(host, folder, definition, capacity, report)
    seconds = variant.get("ModelDataDownloadTimeoutInSeconds", math.inf)
    return _create_single_model_server(host, location[0], folder, definition, capacity, seconds)


def _delete_old_logs(instances: Path) -> None:
    """Delete the oldest folders of ended servers; they contain only logs."""
    oldest_first = sorted(
        instances.glob("*"), key=lambda folder: int(folder.name.rpartition("-")[2])
    )
    ended = [
        folder
        for folder in oldest_first
        if not any((folder / name).exists() for name in DOWNLOAD_FOLDERS)
    ]
    for folder in ended[:-MAX_LOGS]:
        shutil.rmtree(folder, ignore_errors=True)


def _create_multi_model_server(
    host: Host, folder: Path, definition: dict[str, Any], capacity: Capacity, report: Report
) -> RunningServer:
    prefix = S3Prefix.parse(definition["ModelDataUrl"])
    empty = folder / "empty"
    empty.mkdir()
    models = folder / "models"
    models.mkdir()
    command = serve_script.multi_model(
        definition.get("Environment", {}), image=definition.get("Image", ""), repository=str(empty)
    )
    path_in_sandbox = sandbox.path_in_sandbox(models, sandbox.MODELS, isolated=host.triton.isolated)
    triton = _triton(host, folder, command, (models, path_in_sandbox))
    caching = definition.get("MultiModelConfig", {}).get("ModelCacheSetting", "Enabled")
    store = ModelStore(
        host.s3, prefix=prefix, folder=models, backends=host.backends, limit=capacity.disk
    )
    container = MultiModelContainer(
        triton,
        store,
        path_in_sandbox=path_in_sandbox,
        memory=capacity.memory,
        caches=caching != "Disabled",
        load_seconds=host.load_seconds,
        report=report,
    )
    return RunningServer(triton, container, folder, capacity)


def _create_single_model_server(
    host: Host,
    endpoint: str,
    folder: Path,
    definition: dict[str, Any],
    capacity: Capacity,
    seconds: float,
) -> RunningServer:
    archive, repository = S3Prefix.parse(definition["ModelDataUrl"]), folder / "model"
    try:
        fetched = archives.fetch(
            host.s3,
            bucket=archive.bucket,
            key=archive.key,
            to=repository,
            limit=capacity.disk,
            seconds=seconds,
        )
        packages.install_for_stand_ins(repository, host.backends)
    except archives.NotDownloadedError:
        # Source: aws-controllers-k8s/sagemaker-controller,
        # pkg/resource/endpoint/testdata/sdkapi/describe/failed_after_create.json.
        raise LocalSageMakerError(
            'Failed to download model data for container "container_1" from URL: '
            f'"{definition["ModelDataUrl"]}". Please ensure that there is an object located at '
            "the URL and that the role passed to CreateModel has permissions to download the "
            "object."
        ) from None
    except ApiError as error:
        raise LocalSageMakerError(error.message) from None
    path_in_sandbox = sandbox.path_in_sandbox(
        repository, sandbox.MODEL, isolated=host.triton.isolated
    )
    command = serve_script.single_model(
        definition.get("Environment", {}),
        image=definition.get("Image", ""),
        archive=repository,
        repository=str(path_in_sandbox),
        server=host.triton.version,
    )
    triton = _triton(host, folder, command, (repository, path_in_sandbox))
    container = SingleModelContainer(
        endpoint,
        command.invocations,
        disk_bytes=fetched.size,
        archive=archive.key.rpartition("/")[2],
    )
    return RunningServer(triton, container, folder, capacity)


def _triton(
    host: Host, folder: Path, command: serve_script.ServeCommand, models: tuple[Path, Path]
) -> Triton:
    return Triton(
        host.triton,
        arguments=command.arguments,
        environment=command.environment,
        backends=host.backends,
        folder=folder,
        log_lines=command.log_lines,
        ping=command.ping,
        models=models,
        threads=command.threads,
    )
