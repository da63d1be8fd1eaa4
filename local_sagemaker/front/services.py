"""The services that ministack does not have."""

import json
import os
from functools import partial
from typing import Any

import boto3
from botocore.config import Config

from local_sagemaker import settings
from local_sagemaker.autoscaling.service import AutoScaling
from local_sagemaker.clock import Clock, Ticker
from local_sagemaker.codebuild.builds import CodeBuild
from local_sagemaker.ecr import registries
from local_sagemaker.folder import Folder
from local_sagemaker.front.calls import Calls
from local_sagemaker.hosting import backends
from local_sagemaker.hosting.container import ModelStep
from local_sagemaker.hosting.container_logs import ContainerLogs
from local_sagemaker.hosting.fleet import Fleet
from local_sagemaker.hosting.launch import Host
from local_sagemaker.hosting.memory_limit import INTERVAL_SECONDS as MEMORY_SECONDS
from local_sagemaker.hosting.memory_limit import MemoryLimit
from local_sagemaker.hosting.pools import Capacities
from local_sagemaker.metrics.instances import INTERVAL_SECONDS, InstanceMetrics
from local_sagemaker.metrics.metric_buffer import MetricBuffer
from local_sagemaker.metrics.models import model_step_recorder
from local_sagemaker.metrics.publisher import Publisher
from local_sagemaker.prerequisites import TritonInstallation
from local_sagemaker.quotas import AccountQuotas, configured_quotas
from local_sagemaker.sagemaker.alarms import alarm_states
from local_sagemaker.sagemaker.capture import CaptureWriter
from local_sagemaker.sagemaker.component_operations import SCALE_SECONDS, HostingOperations
from local_sagemaker.sagemaker.invocations import Invocations
from local_sagemaker.sagemaker.roles import is_assumable
from local_sagemaker.sagemaker.service import control_plane
from local_sagemaker.watch.events import Events
from local_sagemaker.watch.models import model_event_reporter
from local_sagemaker.watch.rates import Traffic
from local_sagemaker.watch.state import StateReader
from local_sagemaker.watch.web_app import DashboardApp

ONE_ATTEMPT = Config(retries={"total_max_attempts": 1})
"""Client config without retries: during shutdown, ministack no longer responds."""


class Services:
    """SageMaker, Application Auto Scaling, CodeBuild, Service Quotas, and AWS's ECR registries.

    `ministack` is the URL of the other services. `calls` records the requests of builds with the
    project's role as the caller, and those of SageMaker with the caller `endpoint`.
    """

    def __init__(
        self, folder: Folder, triton: TritonInstallation, *, ministack: str, calls: Calls
    ) -> None:
        session: Any = boto3.Session()

        def client(service: str) -> Any:
            return session.client(service, endpoint_url=ministack, config=ONE_ATTEMPT)

        def recorded_client(caller: str, service: str) -> Any:
            result = client(service)
            calls.record_client(result, caller)
            return result

        s3, iam, cloudwatch = recorded_client("endpoint", "s3"), client("iam"), client("cloudwatch")
        speed, quotas = settings.speed(), AccountQuotas(configured_quotas())
        metrics, events, traffic = MetricBuffer(speed), Events(), Traffic()
        record_metrics, add_event = model_step_recorder(metrics), model_event_reporter(events.add)

        def report_model_step(endpoint: str, variant: str, instance: str, step: ModelStep) -> None:
            record_metrics(endpoint, variant, step)
            add_event(endpoint, variant, instance, step)

        self._logs = ContainerLogs(recorded_client("endpoint", "logs"))
        backends.install(triton, folder.backends)
        self._hosting = HostingOperations(
            Host(
                triton,
                folder.backends,
                folder.instances,
                s3,
                max_processes=settings.max_processes(),
                report_model_step=report_model_step,
                follow_log=self._logs.follow_log,
                report_event=events.add,
                capacities=Capacities(json.loads(os.environ.get(settings.CAPACITY, "{}"))),
            ),
            speed=speed,
            fleet=Fleet,
            clock=lambda: Clock(speed),
            alarms=partial(alarm_states, cloudwatch),
            is_assumable=partial(is_assumable, iam),
            quota_value=quotas.value,
            scalable_variants=lambda endpoint: self._scaling.scalable_variants(endpoint),
            deregister=lambda endpoint: self._scaling.deregister_endpoint(endpoint),
        )
        self._codebuild = CodeBuild(
            clients=lambda role: (recorded_client(role, "s3"), recorded_client(role, "logs")),
            folder=folder.builds,
            environment={
                name: value for name, value in os.environ.items() if name.startswith("AWS_")
            },
        )
        self._scaling: AutoScaling = AutoScaling(
            self._hosting, cloudwatch, speed=speed, report=events.add
        )
        instances = InstanceMetrics(self._hosting.fleets, metrics, speed=speed)
        memory_limit = MemoryLimit(self._hosting.fleets)
        self._memory_limit = Ticker(memory_limit.check, seconds=MEMORY_SECONDS, speed=1)
        publisher = Publisher(metrics, cloudwatch)
        self._instance_metrics = Ticker(instances.measure, seconds=INTERVAL_SECONDS, speed=speed)
        self._publisher = Ticker(publisher.publish, seconds=INTERVAL_SECONDS, speed=speed)
        self._capture_writer = CaptureWriter(client("s3"))
        self.runtime = Invocations(
            self._hosting.endpoints_by_name,
            self._capture_writer,
            metrics,
            traffic.add,
            components=self._hosting.components,
        )
        self._instance_scaling = Ticker(
            self._hosting.scale_instances, seconds=SCALE_SECONDS, speed=speed
        )
        state_reader = StateReader(
            endpoints=self._hosting.endpoints,
            components=self._hosting.components,
            targets=self._scaling.targets,
            cloudwatch=cloudwatch,
            events=events,
            traffic=traffic,
            speed=speed,
            max_processes=settings.max_processes(),
        )
        self.dashboard = DashboardApp(state_reader.state)
        self.control_planes = (
            control_plane(self._hosting),
            self._scaling.service,
            self._codebuild.service,
            quotas.service,
            registries(),
        )

        for ticker in (
            self._instance_metrics,
            self._publisher,
            self._scaling,
            self._instance_scaling,
            self._memory_limit,
        ):
            ticker.start()

    def stop(self) -> None:
        """Stop all builds and instances."""
        for ticker in (
            self._memory_limit,
            self._instance_scaling,
            self._scaling,
            self._instance_metrics,
            self._publisher,
        ):
            ticker.stop()
        self._codebuild.stop()
        self._hosting.stop()
        self._capture_writer.stop()
        self._logs.stop()
