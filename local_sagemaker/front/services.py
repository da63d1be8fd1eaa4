"""The services that ministack does not have."""

import json
import os
from collections.abc import Callable
from contextlib import ExitStack
from functools import cache, partial
from typing import Any

import boto3
from botocore import xform_name
from botocore.config import Config

from local_sagemaker import settings
from local_sagemaker.api import JsonService
from local_sagemaker.autoscaling.scaler import INTERVAL_SECONDS as SCALING_SECONDS
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.clock import Clock, Ticker
from local_sagemaker.codebuild.builds import CodeBuild
from local_sagemaker.ecr import registries
from local_sagemaker.folder import Folder
from local_sagemaker.front.calls import Calls
from local_sagemaker.front.saver import INTERVAL_SECONDS as SAVE_SECONDS
from local_sagemaker.front.saver import Saver
from local_sagemaker.hosting import backends
from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.hosting.container_logs import ContainerLogs
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.memory_limit import INTERVAL_SECONDS as MEMORY_SECONDS
from local_sagemaker.hosting.memory_limit import MemoryLimit
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.kept_state import KeptServices, KeptState
from local_sagemaker.metrics.instances import INTERVAL_SECONDS, InstanceMetrics
from local_sagemaker.metrics.invocations import add_model_step
from local_sagemaker.metrics.metric_buffer import MetricBuffer
from local_sagemaker.metrics.publisher import Publisher
from local_sagemaker.prerequisites import TritonInstallation
from local_sagemaker.quotas import AccountQuotas, configured_quotas
from local_sagemaker.sagemaker.alarms import alarm_states
from local_sagemaker.sagemaker.capture import CaptureWriter
from local_sagemaker.sagemaker.component_operations import SCALE_SECONDS, HostingOperations
from local_sagemaker.sagemaker.invocations import Invocations
from local_sagemaker.sagemaker.roles import is_assumable
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.models import model_event
from local_sagemaker.watch.rates import Traffic
from local_sagemaker.watch.state import StateReader
from local_sagemaker.watch.web_app import DashboardApp

ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
"""Client config without retries: during shutdown, ministack no longer responds."""


class Services:
    """SageMaker, Application Auto Scaling, CodeBuild, Service Quotas, and AWS's ECR registries.

    `ministack` is the URL of the other services. `calls` records the requests of builds with the
    project's role as the caller, and those of SageMaker with the caller `endpoint`. `stop` saves
    the state and stops what was started, the last first.
    """

    def __init__(
        self, folder: Folder, triton: TritonInstallation, *, ministack: str, calls: Calls
    ) -> None:
        session: Any = boto3.Session()
        stops = ExitStack()
        self.stop = stops.close

        def client(service: str, caller: str | None = None) -> Any:
            result = session.client(service, endpoint_url=ministack, config=ONE_ATTEMPT)
            if caller:
                calls.record_client(result, caller)
            return result

        clients = cache(client)  # each takes 0.3 MB

        def ask(operation: str, request: dict[str, Any]) -> Any:
            service, _, name = operation.partition(":")
            return getattr(clients(service), xform_name(name))(**request)

        self.ask = ask

        def call_every(seconds: float, work: Callable[[], None], at_speed: float) -> None:
            ticker = Ticker(work, seconds=seconds, speed=at_speed)
            ticker.start()
            stops.callback(ticker.stop)

        cloudwatch, speed = client("cloudwatch"), settings.speed()
        quotas, max_processes = AccountQuotas(configured_quotas()), settings.max_processes()
        metrics, events, traffic = MetricBuffer(speed), Events(), Traffic()

        def report_model_step(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
            add_model_step(metrics, endpoint, variant, step)
            events.add(model_event(endpoint, variant, instance, step))

        logs = ContainerLogs(client("logs", "endpoint"))
        stops.callback(logs.stop)
        capture_writer = CaptureWriter(client("s3"))
        stops.callback(capture_writer.stop)
        backends.install(triton, folder.backends)
        hosting = HostingOperations(
            Host(
                triton,
                folder.backends,
                folder.instances,
                client("s3", "endpoint"),
                max_processes=max_processes,
                report_model_step=report_model_step,
                follow_log=logs.follow_log,
                report_event=events.add,
                capacities=Capacities(json.loads(os.environ.get(settings.CAPACITY, "{}"))),
            ),
            speed=speed,
            fleet=Fleet,
            clock=lambda: Clock(speed),
            alarms=partial(alarm_states, cloudwatch),
            is_assumable=partial(is_assumable, client("iam")),
            quota_value=quotas.value,
            scalable_variants=lambda endpoint: scaling.scalable_variants(endpoint),
            deregister=lambda endpoint: scaling.deregister_endpoint(endpoint),
        )
        stops.callback(hosting.stop)
        scaling: AutoScaling = AutoScaling(hosting, cloudwatch, speed=speed, report=events.add)
        codebuild = CodeBuild(
            clients=lambda role: (client("s3", role), client("logs", role)),
            folder=folder.builds,
            environment={
                name: value for name, value in os.environ.items() if name.startswith("AWS_")
            },
        )
        stops.callback(codebuild.stop)
        restored = KeptServices(hosting=hosting, scaling=scaling, codebuild=codebuild)._asdict()
        if kept := KeptState.read(folder):
            for name, service in restored.items():
                service.restore(kept.records[name])
        self.runtime = Invocations(
            hosting.endpoints_by_name,
            capture_writer,
            metrics,
            traffic.add,
            components=hosting.components,
        )
        state_reader = StateReader(
            endpoints=hosting.endpoints,
            components=hosting.components,
            targets=scaling.targets,
            cloudwatch=cloudwatch,
            events=events,
            traffic=traffic,
            speed=speed,
            max_processes=max_processes,
        )
        self.dashboard = DashboardApp(state_reader.state)
        self.control_planes = (
            JsonService("sagemaker", hosting, hosting.tags),
            scaling.service, codebuild.service, quotas.service, registries(),
        )  # fmt: skip
        instances = InstanceMetrics(hosting.fleets, metrics, speed=speed)
        call_every(INTERVAL_SECONDS, Publisher(metrics, cloudwatch).publish, speed)
        call_every(INTERVAL_SECONDS, instances.measure, speed)
        call_every(SCALING_SECONDS, scaling.scaler.tick, speed)
        call_every(SCALE_SECONDS, hosting.scale_instances, speed)
        call_every(MEMORY_SECONDS, MemoryLimit(hosting.fleets).check, 1)

        self.saver = Saver(
            ministack, lambda: {name: service.records() for name, service in restored.items()}
        )
        stops.callback(self.saver.save_end)
        call_every(SAVE_SECONDS, self.saver.save_changes, 1)
