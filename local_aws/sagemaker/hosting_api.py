"""Models, endpoint configurations and endpoints, as SageMaker's API has them."""

import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from local_aws.environment import ACCOUNT, REGION
from local_aws.errors import ApiError, LocalAwsError
from local_aws.hosting.fleet import Fleet, Host

DRAIN_SECONDS = 60

Record = dict[str, Any]


@dataclass
class Endpoint:
    """An endpoint, the fleet that serves it, and the one that shall when it has started.

    `description` is what DescribeEndpoint answers.
    """

    description: Record
    fleet: Fleet | None = None
    starting: Fleet | None = None

    def give_up(self) -> list[Fleet]:
        """Return the fleets, which are the caller's to stop from now on."""
        fleets = [fleet for fleet in (self.starting, self.fleet) if fleet]
        self.starting = self.fleet = None
        return fleets


class Hosting:
    """What exists, by name. Every method is safe to call from any thread."""

    def __init__(self, host: Host) -> None:
        self._host = host
        self._lock = threading.RLock()
        self._models: dict[str, Record] = {}
        self._configs: dict[str, Record] = {}
        self._endpoints: dict[str, Endpoint] = {}

    # Models

    def create_model(self, request: Record) -> Record:
        """CreateModel."""
        name = request["ModelName"]
        with self._lock:
            _refuse_existing(self._models, name, "model")
            self._models[name] = {**request, **_born("Model", "model", name)}
            return {"ModelArn": self._models[name]["ModelArn"]}

    def describe_model(self, request: Record) -> Record:
        """DescribeModel."""
        with self._lock:
            return _find(self._models, request["ModelName"], "model")

    def delete_model(self, request: Record) -> Record:
        """DeleteModel."""
        with self._lock:
            _find(self._models, request["ModelName"], "model")
            del self._models[request["ModelName"]]
            return {}

    def list_models(self, request: Record) -> Record:
        """ListModels."""
        return {"Models": self._list(self._models, request, ("ModelName", "ModelArn"))}

    # Endpoint configurations

    def create_endpoint_config(self, request: Record) -> Record:
        """CreateEndpointConfig."""
        name = request["EndpointConfigName"]
        with self._lock:
            _refuse_existing(self._configs, name, "endpoint configuration")
            for variant in request["ProductionVariants"]:
                _find(self._models, variant["ModelName"], "model")
            self._configs[name] = {**request, **_born("EndpointConfig", "endpoint-config", name)}
            return {"EndpointConfigArn": self._configs[name]["EndpointConfigArn"]}

    def describe_endpoint_config(self, request: Record) -> Record:
        """DescribeEndpointConfig."""
        with self._lock:
            return _find(self._configs, request["EndpointConfigName"], "endpoint configuration")

    def delete_endpoint_config(self, request: Record) -> Record:
        """DeleteEndpointConfig."""
        name = request["EndpointConfigName"]
        with self._lock:
            _find(self._configs, name, "endpoint configuration")
            for endpoint in self._endpoints.values():
                if endpoint.description["EndpointConfigName"] == name:
                    user = endpoint.description["EndpointName"]
                    raise ApiError(
                        "ValidationException",
                        f"Cannot delete endpoint configuration {name}: endpoint {user} uses it.",
                    )
            del self._configs[name]
            return {}

    def list_endpoint_configs(self, request: Record) -> Record:
        """ListEndpointConfigs."""
        keys = ("EndpointConfigName", "EndpointConfigArn")
        return {"EndpointConfigs": self._list(self._configs, request, keys)}

    # Endpoints

    def create_endpoint(self, request: Record) -> Record:
        """CreateEndpoint: answers at once; the endpoint is InService or Failed later."""
        name = request["EndpointName"]
        with self._lock:
            _refuse_existing(self._endpoints, name, "endpoint")
            config = self.describe_endpoint_config(request)
            endpoint = self._endpoints[name] = Endpoint(
                {
                    "EndpointName": name,
                    "EndpointStatus": "Creating",
                    "EndpointConfigName": request["EndpointConfigName"],
                    "ProductionVariants": _variants(config),
                    **_born("Endpoint", "endpoint", name),
                },
                starting=(fleet := Fleet()),
            )
        self._in_background(self._bring_up, endpoint, fleet, config)
        return {"EndpointArn": endpoint.description["EndpointArn"]}

    def update_endpoint(self, request: Record) -> Record:
        """UpdateEndpoint: the old instances serve until the new ones are healthy."""
        with self._lock:
            endpoint = self._endpoint(request["EndpointName"])
            _refuse_unless_in_service(endpoint)
            config = self.describe_endpoint_config(request)
            self._set(endpoint, EndpointStatus="Updating")
            fleet = endpoint.starting = Fleet()
            kept = _kept_variants(endpoint.description["ProductionVariants"], config, request)
        self._in_background(self._replace, endpoint, fleet, config, kept)
        return {"EndpointArn": endpoint.description["EndpointArn"]}

    def describe_endpoint(self, request: Record) -> Record:
        """DescribeEndpoint."""
        with self._lock:
            return dict(self._endpoint(request["EndpointName"]).description)

    def list_endpoints(self, request: Record) -> Record:
        """ListEndpoints."""
        keys = ("EndpointName", "EndpointArn", "EndpointStatus", "LastModifiedTime")
        with self._lock:
            descriptions = {name: it.description for name, it in self._endpoints.items()}
            return {"Endpoints": self._list(descriptions, request, keys)}

    def delete_endpoint(self, request: Record) -> Record:
        """DeleteEndpoint: what still starts is ended, what serves finishes what it has."""
        with self._lock:
            endpoint = self._endpoint(request["EndpointName"])
            self._set(endpoint, EndpointStatus="Deleting")
            del self._endpoints[request["EndpointName"]]
            fleets = endpoint.give_up()
        for fleet in fleets:
            fleet.drain(DRAIN_SECONDS)
            fleet.stop()
        return {}

    def update_weights_and_capacities(self, request: Record) -> Record:
        """UpdateEndpointWeightsAndCapacities: holds at once, since nothing is really scaled."""
        with self._lock:
            endpoint = self._endpoint(request["EndpointName"])
            _refuse_unless_in_service(endpoint)
            variants = {
                it["VariantName"]: dict(it) for it in endpoint.description["ProductionVariants"]
            }
            for wanted in request["DesiredWeightsAndCapacities"]:
                variant = variants.get(wanted["VariantName"])
                if variant is None:
                    raise ApiError(
                        "ValidationException", f"Could not find variant {wanted['VariantName']}."
                    )
                for api, kept in _DESIRED.items():
                    if api in wanted:
                        variant[f"Desired{kept}"] = variant[f"Current{kept}"] = wanted[api]
            self._set(endpoint, ProductionVariants=list(variants.values()))
            return {"EndpointArn": endpoint.description["EndpointArn"]}

    @contextmanager
    def serving(self, name: str) -> Iterator[tuple[Fleet, dict[str, float]]]:
        """Yield the instances that answer for an endpoint, and the weights of its variants.

        The invocation is counted in before an update can take the instances away, so that they
        answer it before they are stopped. Raises `ApiError` as InvokeEndpoint does where nothing
        answers.
        """
        with ExitStack() as counted:
            with self._lock:
                endpoint = self._endpoints.get(name)
                if endpoint is None or endpoint.fleet is None:
                    raise ApiError(
                        "ValidationError", f"Endpoint {name} of account {ACCOUNT} not found."
                    )
                counted.enter_context(endpoint.fleet.counted())
                fleet = endpoint.fleet
                weights = {
                    it["VariantName"]: it["CurrentWeight"]
                    for it in endpoint.description["ProductionVariants"]
                }
            yield fleet, weights

    def stop(self) -> None:
        """End every instance, also those that still start."""
        with self._lock:
            fleets = [it for endpoint in self._endpoints.values() for it in endpoint.give_up()]
            self._endpoints.clear()
        for fleet in fleets:
            fleet.stop()

    # Transitions, each on a thread of its own

    def _bring_up(self, endpoint: Endpoint, fleet: Fleet, config: Record) -> None:
        try:
            self._start(fleet, endpoint, config)
        except Exception as error:
            fleet.stop()
            self._set(endpoint, EndpointStatus="Failed", FailureReason=_reason(error))
            return
        with self._lock:
            if endpoint.starting is fleet:  # else it was deleted, and its instances with it
                endpoint.fleet, endpoint.starting = fleet, None
                self._set(endpoint, EndpointStatus="InService")

    def _replace(
        self, endpoint: Endpoint, fleet: Fleet, config: Record, variants: list[Record]
    ) -> None:
        try:
            self._start(fleet, endpoint, config)
        except Exception as error:
            # The old instances never stopped serving: going back is to end the new ones.
            self._set(endpoint, EndpointStatus="RollingBack", FailureReason=_reason(error))
            fleet.stop()
            with self._lock:
                endpoint.starting = None
                self._set(endpoint, EndpointStatus="InService")
            return
        with self._lock:
            if endpoint.starting is not fleet:  # deleted, and the old instances with it
                return
            old, endpoint.fleet, endpoint.starting = endpoint.fleet, fleet, None
            endpoint.description.pop("FailureReason", None)
            self._set(
                endpoint,
                EndpointConfigName=config["EndpointConfigName"],
                ProductionVariants=variants,
            )
        try:
            if old:
                old.drain(DRAIN_SECONDS)
                old.stop()
        finally:
            self._set(endpoint, EndpointStatus="InService")

    def _start(self, fleet: Fleet, endpoint: Endpoint, config: Record) -> None:
        with self._lock:
            models = dict(self._models)
        fleet.start(self._host, endpoint.description["EndpointName"], config, models)

    def _in_background(self, transition: Any, *arguments: Any) -> None:
        threading.Thread(target=transition, args=arguments, daemon=True).start()

    def _set(self, endpoint: Endpoint, **changes: Any) -> None:
        with self._lock:
            endpoint.description.update(changes, LastModifiedTime=time.time())

    def _endpoint(self, name: str) -> Endpoint:
        try:
            return self._endpoints[name]
        except KeyError:
            raise _not_found(name, "endpoint") from None

    def _list(
        self, records: dict[str, Record], request: Record, keys: tuple[str, ...]
    ) -> list[Record]:
        with self._lock:
            return [
                {key: record[key] for key in (*keys, "CreationTime")}
                for name, record in sorted(records.items())
                if request.get("NameContains", "") in name
            ]


def _born(kind: str, resource: str, name: str) -> Record:
    arn = f"arn:aws:sagemaker:{REGION}:{ACCOUNT}:{resource}/{name.lower()}"
    now = time.time()
    times = {"CreationTime": now, "LastModifiedTime": now} if kind == "Endpoint" else {}
    return {f"{kind}Arn": arn, "CreationTime": now, **times}


def _variants(config: Record) -> list[Record]:
    return [
        {
            "VariantName": variant["VariantName"],
            "CurrentWeight": variant.get("InitialVariantWeight", 1.0),
            "DesiredWeight": variant.get("InitialVariantWeight", 1.0),
            "CurrentInstanceCount": variant.get("InitialInstanceCount", 1),
            "DesiredInstanceCount": variant.get("InitialInstanceCount", 1),
        }
        for variant in config["ProductionVariants"]
    ]


_DESIRED = {"DesiredInstanceCount": "InstanceCount", "DesiredWeight": "Weight"}
"""What can be retained or set by hand; DescribeEndpoint has it as current and as desired."""


def _kept_variants(old: list[Record], config: Record, request: Record) -> list[Record]:
    """The configuration's variants, with the counts and weights that an update shall retain."""
    variants = _variants(config)
    if not request.get("RetainAllVariantProperties"):
        return variants
    excluded = {
        it["VariantPropertyType"] for it in request.get("ExcludeRetainedVariantProperties", [])
    }
    before = {it["VariantName"]: it for it in old}
    for variant in variants:
        for api, kept in _DESIRED.items():
            if api not in excluded and variant["VariantName"] in before:
                for when in ("Current", "Desired"):
                    variant[f"{when}{kept}"] = before[variant["VariantName"]][f"{when}{kept}"]
    return variants


def _refuse_unless_in_service(endpoint: Endpoint) -> None:
    arn, status = (endpoint.description[it] for it in ("EndpointArn", "EndpointStatus"))
    if status == "Failed":
        raise ApiError(
            "ValidationException",
            f"Cannot update failed endpoint {arn}: delete it and create it anew.",
        )
    if status != "InService":
        raise ApiError("ValidationException", f"Cannot update in-progress endpoint {arn}.")


def _reason(error: Exception) -> str:
    """Return a FailureReason: our own errors say what to do, others at least what they are."""
    return str(error) if isinstance(error, LocalAwsError) else f"{type(error).__name__}: {error}"


def _find(records: dict[str, Record], name: str, kind: str) -> Record:
    try:
        return records[name]
    except KeyError:
        raise _not_found(name, kind) from None


def _not_found(name: str, kind: str) -> ApiError:
    return ApiError("ValidationException", f'Could not find {kind} "{name}".')


def _refuse_existing(records: Any, name: str, kind: str) -> None:
    if name in records:
        raise ApiError("ValidationException", f'Cannot create already existing {kind} "{name}".')
