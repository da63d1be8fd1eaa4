"""The client."""

import re
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from endpoint_client._catalog import Catalog, CatalogEntry
from endpoint_client._errors import EndpointError, ModelFailed, ModelNotReady
from endpoint_client._payload import Array, decode, encode

if TYPE_CHECKING:
    from mypy_boto3_sagemaker_runtime import SageMakerRuntimeClient
    from mypy_boto3_sagemaker_runtime.type_defs import InvokeEndpointOutputTypeDef

CALL = Config(read_timeout=70, retries={"total_max_attempts": 1})
"""An invocation may take 60 s in the container; repeating it is decided here, not in botocore."""


NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9-]*")
"""How stages and endpoints are called."""


class EndpointClient:
    """Invokes the models of one endpoint. Safe to share by threads.

    `stage` and `endpoint` name the catalog. `catalog_ttl` is how long, in seconds, a resolved
    model is used before the catalog is asked again, and so how long a new version may wait.
    `load_attempts` is how often an invocation is tried while SageMaker loads the model.
    `session` is the boto3 session to use. Raises `EndpointError` where it has no region, or for
    names that no stage and no endpoint has.
    """

    def __init__(
        self,
        *,
        stage: str,
        endpoint: str,
        catalog_ttl: float = 60.0,
        load_attempts: int = 5,
        session: boto3.Session | None = None,
    ) -> None:
        session = session or boto3.Session()
        if not session.region_name:
            raise EndpointError(
                "no AWS region: set AWS_DEFAULT_REGION, or give "
                "session=boto3.Session(region_name=...)"
            )
        for what, name in {"stage": stage, "endpoint": endpoint}.items():
            if not NAME.fullmatch(name):
                raise EndpointError(
                    f"{what}={name!r} names none: write letters, digits and hyphens, such as "
                    'stage="prod", endpoint="text"'
                )
        prefix = f"/triton/{stage}/{endpoint}"
        self._catalog = Catalog(session.client("ssm"), prefix=prefix, ttl=catalog_ttl)
        self._runtime: SageMakerRuntimeClient = session.client("sagemaker-runtime", config=CALL)
        self._load_attempts = load_attempts

    def models(self) -> list[str]:
        """Return the names of the endpoint's models, sorted."""
        return self._catalog.models()

    def resolve(self, model: str) -> CatalogEntry:
        """Return the current version of a model. Raises `UnknownModel`."""
        return self._catalog.resolve(model)

    def invoke(
        self,
        model: str,
        inputs: Mapping[str, Array | Sequence[Any]],
        *,
        binary: bool = True,
    ) -> dict[str, Array]:
        """Return the outputs of a model by name.

        `inputs` maps input names to arrays in the model's dtype, batch axis first; to lists of
        numbers, which become that dtype where it loses nothing; or to a list of strings for a BYTES
        input. `binary` sends and asks for raw tensors after a JSON header
        (`application/vnd.sagemaker-triton.binary+json`); False sends plain JSON.

        Raises `UnknownModel`, `InvalidInput`, `ModelNotReady` and `ModelFailed`, and
        `EndpointError` itself where AWS cannot be reached or refuses.
        """
        entry = self._catalog.resolve(model)
        body, content_type = encode(entry, inputs, binary=binary)
        try:
            answer = self._invoke(entry, body, content_type)
            content = answer["Body"].read()
        except BotoCoreError as error:
            raise EndpointError(f"{entry.model} {entry.version}: {error}") from error
        return decode(content, answer["ContentType"])

    def _invoke(
        self, entry: CatalogEntry, body: bytes, content_type: str
    ) -> "InvokeEndpointOutputTypeDef":
        target: Any = {"TargetModel": entry.target_model} if entry.target_model else {}
        for attempt in range(self._load_attempts):
            if attempt:
                time.sleep(2 ** (attempt - 1))
            try:
                return self._runtime.invoke_endpoint(
                    EndpointName=entry.endpoint, ContentType=content_type, Body=body, **target
                )
            except ClientError as error:
                if error.response["Error"]["Code"] != "ModelNotReadyException":
                    raise _translated(entry, error) from error
        raise ModelNotReady(
            f"{entry.model} {entry.version} is still loading after {self._load_attempts} attempts"
        )


def _translated(entry: CatalogEntry, error: ClientError) -> EndpointError:
    response: Any = error.response
    name = f"{entry.model} {entry.version}"
    if response["Error"]["Code"] == "ModelError":
        status = int(response.get("OriginalStatusCode", 0))
        said = response.get("OriginalMessage") or response["Error"]["Message"]
        return ModelFailed(f"{name}: {said}", status=status)
    return EndpointError(f"{name}: {response['Error']['Message']}")
