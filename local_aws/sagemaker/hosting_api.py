"""Models, endpoint configurations and endpoints, as SageMaker's API has them."""

import logging
import threading
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from local_aws.environment import ACCOUNT
from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting.fleet import Fleet
from local_aws.hosting.instance import Instance
from local_aws.hosting.launch import Host
from local_aws.sagemaker import variants
from local_aws.sagemaker.refusals import check_endpoint_config, check_model
from local_aws.sagemaker.resources import ENDPOINT, ENDPOINT_CONFIG, MODEL, Kind, Record
from local_aws.sagemaker.tags import Tags

DRAIN_SECONDS = 60

log = logging.getLogger(__name__)


@dataclass
class Endpoint:
    """An endpoint and its fleets: what serves, what shall serve, and what finishes its calls.

    `description` is what DescribeEndpoint answers.
    """

    description: Record
    fleet: Fleet | None = None
    starting: Fleet | None = None
    leaving: Fleet | None = None

    def give_up(self) -> list[Fleet]:
        """Return the fleets, which are the caller's to stop from now on."""
        fleets = [it for it in (self.starting, self.fleet, self.leaving) if it]
        self.starting = self.fleet = self.leaving = None
        return fleets


@dataclass(frozen=True)
class Plan:
    """What a fleet is started from; what is deleted meanwhile does not change it."""

    config: Record
    models: dict[str, Record]


class Hosting:
    """What exists, by name. Every method is safe to call from any thread.

    `scaled_variants` returns the variants of an endpoint that are registered for scaling,
    `deregister` ends that when the endpoint is deleted.
    """

    def __init__(
        self,
        host: Host,
        *,
        scaled_variants: Callable[[str], Collection[str]],
        deregister: Callable[[str], None],
    ) -> None:
        self._host = host
        self._scaled_variants, self._deregister = scaled_variants, deregister
        self._lock = threading.RLock()
        self._models: dict[str, Record] = {}
        self._configs: dict[str, Record] = {}
        self._endpoints: dict[str, Endpoint] = {}
        self._tags = Tags()

    # Models

    def create_model(self, request: Record) -> Record:
        """CreateModel."""
        name = request["ModelName"]
        check_model(request, self._host.s3)
        with self._lock:
            MODEL.refuse_existing(self._models, name)
            self._models[name] = self._born(MODEL, request)
            return {"ModelArn": self._models[name]["ModelArn"]}

    def describe_model(self, request: Record) -> Record:
        """DescribeModel."""
        with self._lock:
            return dict(MODEL.find(self._models, request["ModelName"]))

    def delete_model(self, request: Record) -> Record:
        """DeleteModel: whoever uses it. Source: the API reference, which deletes the entry only."""
        with self._lock:
            self._delete(MODEL, self._models, request["ModelName"])
            return {}

    def list_models(self, request: Record) -> Record:
        """ListModels."""
        with self._lock:
            return MODEL.list(self._models.values(), request)

    # Endpoint configurations

    def create_endpoint_config(self, request: Record) -> Record:
        """CreateEndpointConfig."""
        name = request["EndpointConfigName"]
        check_endpoint_config(request)
        with self._lock:
            ENDPOINT_CONFIG.refuse_existing(self._configs, name)
            self._models_of(request)
            self._configs[name] = self._born(ENDPOINT_CONFIG, request)
            return {"EndpointConfigArn": self._configs[name]["EndpointConfigArn"]}

    def describe_endpoint_config(self, request: Record) -> Record:
        """DescribeEndpointConfig."""
        with self._lock:
            return dict(ENDPOINT_CONFIG.find(self._configs, request["EndpointConfigName"]))

    def delete_endpoint_config(self, request: Record) -> Record:
        """DeleteEndpointConfig: also one that an endpoint uses, or is being updated to.

        The API reference says that one "must not", and what is lost then, but it is not refused:
        SDK v2's `Predictor.delete_endpoint` deletes the configuration first, and Terraform's
        provider deletes what still serves (hashicorp/terraform-provider-aws#40048). The endpoint
        can then not be updated any more.
        """
        with self._lock:
            self._delete(ENDPOINT_CONFIG, self._configs, request["EndpointConfigName"])
            return {}

    def list_endpoint_configs(self, request: Record) -> Record:
        """ListEndpointConfigs."""
        with self._lock:
            return ENDPOINT_CONFIG.list(self._configs.values(), request)

    # Endpoints

    def create_endpoint(self, request: Record) -> Record:
        """CreateEndpoint: answers at once; the endpoint is InService or Failed later."""
        name = request["EndpointName"]
        with self._lock:
            ENDPOINT.refuse_existing(self._endpoints, name)
            plan = self._plan(request)
            description = {
                **self._born(ENDPOINT, {"EndpointName": name, "Tags": request.get("Tags", [])}),
                "EndpointStatus": "Creating",
                "EndpointConfigName": request["EndpointConfigName"],
                "ProductionVariants": variants.described(plan.config),
            }
            description["LastModifiedTime"] = description["CreationTime"]
            fleet = Fleet()
            endpoint = self._endpoints[name] = Endpoint(description, starting=fleet)
        self._in_background(self._bring_up, endpoint, fleet, plan)
        return {"EndpointArn": description["EndpointArn"]}

    def update_endpoint(self, request: Record) -> Record:
        """UpdateEndpoint: the old instances serve until the new ones are healthy.

        No source was found for a refusal of the configuration that serves already: it is deployed.
        """
        name = request["EndpointName"]
        scaled = self._scaled_variants(name)
        with self._lock:
            endpoint = ENDPOINT.find(self._endpoints, name)
            _refuse_unless_in_service(endpoint)
            # Without the old configuration there is no update: the error that is quoted in
            # hashicorp/terraform-provider-aws#40048 and #48997 names the old one.
            old = self.describe_endpoint_config(endpoint.description)
            plan = self._plan(request)
            _refuse_changed(variants.changed(old, plan.config), scaled)
            self._set(endpoint, EndpointStatus="Updating")
            fleet = endpoint.starting = Fleet()
            kept = variants.kept(endpoint.description["ProductionVariants"], plan.config, request)
        self._in_background(self._replace, endpoint, fleet, plan, kept)
        return {"EndpointArn": endpoint.description["EndpointArn"]}

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint."""
        with self._lock:
            return dict(ENDPOINT.find(self._endpoints, request["EndpointName"]).description)

    def list_endpoints(self, request: Record) -> Record:
        """ListEndpoints."""
        with self._lock:
            return ENDPOINT.list((it.description for it in self._endpoints.values()), request)

    def delete_endpoint(self, request: Record) -> Record:
        """DeleteEndpoint: answers at once; the endpoint is Deleting until its calls are answered.

        Refused while the endpoint is created, updated or deleted already; source: what
        aws/amazon-sagemaker-operator-for-k8s waits for (`DeleteEndpointInProgressMessagePrefix`).
        Its variants are deregistered as scalable targets: the developer guide, "Delete endpoints
        configured for auto scaling".
        """
        name = request["EndpointName"]
        with self._lock:
            endpoint = ENDPOINT.find(self._endpoints, name)
            if endpoint.description["EndpointStatus"] not in ("InService", "Failed"):
                raise _in_progress(endpoint)
            self._set(endpoint, EndpointStatus="Deleting")
            endpoint.leaving, endpoint.fleet = endpoint.fleet, None
        self._deregister(name)
        self._in_background(self._take_down, endpoint)
        return {}

    def update_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities: Updating, but nothing is really scaled."""
        with self._lock:
            endpoint = ENDPOINT.find(self._endpoints, request["EndpointName"])
            _refuse_unless_in_service(endpoint)
            desired = {
                it["VariantName"]: dict(it) for it in endpoint.description["ProductionVariants"]
            }
            for wanted in request["DesiredWeightsAndCapacities"]:
                variant = desired.get(wanted["VariantName"])
                if variant is None:
                    raise ApiError(
                        "ValidationException", f"Could not find variant {wanted['VariantName']}."
                    )
                if "ServerlessUpdateConfig" in wanted:
                    raise ApiError(
                        "ValidationException", "The local AWS has no serverless variants."
                    )
                for api, name in variants.DESIRED.items():
                    if api in wanted:
                        variant[f"Desired{name}"] = wanted[api]
            self._set(
                endpoint, EndpointStatus="Updating", ProductionVariants=list(desired.values())
            )
        self._in_background(self._reach_desired, endpoint)
        return {"EndpointArn": endpoint.description["EndpointArn"]}

    # Tags

    def add_tags(self, request: Record) -> Record:
        """AddTags."""
        with self._lock:
            return self._tags.add(request)

    def list_tags(self, request: Record) -> Record:
        """ListTags."""
        with self._lock:
            return self._tags.list(request)

    def delete_tags(self, request: Record) -> Record:
        """DeleteTags."""
        with self._lock:
            return self._tags.delete(request)

    def begin(
        self, name: str, *, target_model: str | None = None, target_variant: str | None = None
    ) -> tuple[Fleet, Instance]:
        """Choose the instance that answers an invocation, and the fleet that counts it until `end`.

        The invocation is counted before an update can take the instances away, so that they answer
        it before they are stopped. Raises `ApiError` as InvokeEndpoint does where nothing answers.
        """
        with self._lock:
            endpoint = self._endpoints.get(name)
            if endpoint is None or endpoint.fleet is None:
                raise ApiError(
                    "ValidationError", f"Endpoint {name} of account {ACCOUNT} not found."
                )
            weights = {
                it["VariantName"]: it["CurrentWeight"]
                for it in endpoint.description["ProductionVariants"]
            }
            fleet = endpoint.fleet
            return fleet, fleet.begin(
                weights, target_model=target_model, target_variant=target_variant
            )

    def stop(self) -> None:
        """End every instance, also those that still start or finish their calls."""
        with self._lock:
            fleets = [it for endpoint in self._endpoints.values() for it in endpoint.give_up()]
            self._endpoints.clear()
        for fleet in fleets:
            fleet.stop()

    # Transitions, each on a thread of its own

    def _bring_up(self, endpoint: Endpoint, fleet: Fleet, plan: Plan) -> None:
        try:
            self._start(fleet, endpoint, plan)
        except Exception as error:
            fleet.stop()
            with self._lock:
                endpoint.starting = None
                self._set(endpoint, EndpointStatus="Failed", FailureReason=_reason(error))
            return
        with self._lock:
            if endpoint.starting is fleet:  # else everything was stopped
                endpoint.fleet, endpoint.starting = fleet, None
                self._set(endpoint, EndpointStatus="InService")

    def _replace(self, endpoint: Endpoint, fleet: Fleet, plan: Plan, kept: list[Record]) -> None:
        try:
            self._start(fleet, endpoint, plan)
        except Exception as error:
            # The old instances never stopped serving: going back is to end the new ones.
            self._set(endpoint, EndpointStatus="RollingBack", FailureReason=_reason(error))
            fleet.stop()
            with self._lock:
                endpoint.starting = None
                self._set(endpoint, EndpointStatus="InService")
            return
        with self._lock:
            if endpoint.starting is not fleet:  # everything was stopped
                return
            endpoint.leaving, endpoint.fleet, endpoint.starting = endpoint.fleet, fleet, None
            endpoint.description.pop("FailureReason", None)
            self._set(
                endpoint,
                EndpointConfigName=plan.config["EndpointConfigName"],
                ProductionVariants=kept,
            )
        try:
            self._end_leaving(endpoint)
        finally:
            self._set(endpoint, EndpointStatus="InService")

    def _take_down(self, endpoint: Endpoint) -> None:
        try:
            self._end_leaving(endpoint)
        finally:
            name = endpoint.description["EndpointName"]
            with self._lock:
                if self._endpoints.get(name) is endpoint:  # else everything was stopped
                    self._delete(ENDPOINT, self._endpoints, name)

    def _end_leaving(self, endpoint: Endpoint) -> None:
        """Let the instances that serve no more finish what they have, and end them."""
        fleet = endpoint.leaving
        if fleet:
            fleet.drain(DRAIN_SECONDS)
            fleet.stop()
            endpoint.leaving = None

    def _reach_desired(self, endpoint: Endpoint) -> None:
        with self._lock:
            reached = [
                {
                    **it,
                    **{
                        f"Current{name}": it[f"Desired{name}"] for name in variants.DESIRED.values()
                    },
                }
                for it in endpoint.description["ProductionVariants"]
            ]
            self._set(endpoint, EndpointStatus="InService", ProductionVariants=reached)

    def _start(self, fleet: Fleet, endpoint: Endpoint, plan: Plan) -> None:
        name, counts = endpoint.description["EndpointName"], variants.counts(plan.config)
        fleet.start(self._host, name, plan.config, plan.models, counts)

    def _in_background(self, transition: Any, *arguments: Any) -> None:
        threading.Thread(target=transition, args=arguments, daemon=True).start()

    # What needs the lock

    def _set(self, endpoint: Endpoint, **changes: Any) -> None:
        with self._lock:
            endpoint.description.update(changes, LastModifiedTime=time.time())

    def _plan(self, request: Record) -> Plan:
        config = self.describe_endpoint_config(request)
        return Plan(config, self._models_of(config))

    def _models_of(self, config: Record) -> dict[str, Record]:
        """Return the models of a configuration; one that is gone is refused at CreateEndpoint too.

        Source: aws/sagemaker-python-sdk#2112.
        """
        names = [it["ModelName"] for it in config["ProductionVariants"]]
        return {name: MODEL.find(self._models, name) for name in names}

    def _born(self, kind: Kind, request: Record) -> Record:
        """Return the description of a resource that is created now; its tags are kept apart."""
        born = kind.born(request[f"{kind.name}Name"])
        self._tags.born(born[f"{kind.name}Arn"], request.get("Tags", []))
        return {**{name: it for name, it in request.items() if name != "Tags"}, **born}

    def _delete(self, kind: Kind, records: dict[str, Any], name: str) -> None:
        kind.find(records, name)
        del records[name]
        self._tags.gone(kind.arn(name))


def _in_progress(endpoint: Endpoint) -> ApiError:
    arn = endpoint.description["EndpointArn"]
    return ApiError("ValidationException", f'Cannot update in-progress endpoint "{arn}".')


def _refuse_unless_in_service(endpoint: Endpoint) -> None:
    arn, status = (endpoint.description[it] for it in ("EndpointArn", "EndpointStatus"))
    if status == "Failed":
        # Source: EndpointSummary's API reference, "the only operation that can be performed on a
        # failed endpoint" is DeleteEndpoint.
        raise ApiError(
            "ValidationException",
            f'Cannot update failed endpoint "{arn}": delete it and create it anew.',
        )
    if status != "InService":
        raise _in_progress(endpoint)


def _refuse_changed(changed: list[str], scaled: Collection[str]) -> None:
    """Refuse an update that changes a scaled variant's instances, or removes it.

    Source: the developer guide, "Update endpoints that use auto scaling": the call fails; a change
    of the model alone does not. That a removed variant is refused too has no source.
    """
    names = [it for it in changed if it in scaled]
    if names:
        raise ApiError(
            "ValidationException",
            f"Variant {', '.join(names)} is a scalable target of Application Auto Scaling: call "
            "DeregisterScalableTarget before it is removed or gets another instance type.",
        )


def _reason(error: Exception) -> str:
    """Return a FailureReason: what says itself what to do; of anything else, where to read it."""
    if isinstance(error, ApiError | LocalAwsError | OSError):
        return str(error)
    log.error("the instances did not start", exc_info=error)
    return "An internal error of the local AWS; its log says which."
