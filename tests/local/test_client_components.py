"""Calls of an inference component that scales to zero and back."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import boto3
import pytest

from endpoint_client import AsyncEndpointClient, EndpointClient, NoCopies
from local_sagemaker.settings import SPEED
from local_sagemaker.tests.support.running import LocalSageMaker
from local_sagemaker.tests.support.sleeping_component import NAME, TEMPLATE
from local_sagemaker.tests.support.tiny_models import Barrier, pack_python, times
from local_sagemaker.tests.support.waiting import eventually
from plan.catalog import Catalog
from tests.catalog_items import create_table, write_entry
from tests.local.invoking import NUMBER_SIGNATURE

ARCHIVE: Any = {"Bucket": "models", "Key": "twice.tar.gz"}
ENTRY = {
    "model": "twice",
    "version": "1",
    "endpoint": "shop",
    "target_model": None,
    "inference_component": NAME["InferenceComponentName"],
    "signature": NUMBER_SIGNATURE,
}
INPUTS: dict[str, Any] = {"X": [[7]]}
SETTINGS = {SPEED: "120"}


@pytest.fixture(scope="module")
def endpoint(local_sagemaker: LocalSageMaker, tmp_path_factory: Any) -> Path:
    """A component with a model that doubles, and its catalog entry; returns a folder."""
    folder: Path = tmp_path_factory.mktemp("models")
    s3: Any = boto3.client("s3")
    s3.create_bucket(Bucket=ARCHIVE["Bucket"])
    s3.put_object(**ARCHIVE, Body=pack_python(folder / "twice", times(2)))
    cloudformation: Any = boto3.client("cloudformation")
    cloudformation.create_stack(StackName="shop", TemplateBody=TEMPLATE)
    waiter = {"Delay": 1, "MaxAttempts": 600}
    cloudformation.get_waiter("stack_create_complete").wait(StackName="shop", WaiterConfig=waiter)
    dynamodb = boto3.client("dynamodb")
    create_table(dynamodb, "shop")
    write_entry(Catalog(dynamodb, "shop", "text"), ENTRY)
    return folder


def copies() -> int:
    described: Any = boto3.client("sagemaker").describe_inference_component(**NAME)
    return int(described["RuntimeConfig"]["CurrentCopyCount"])


def client(**options: Any) -> EndpointClient:
    return EndpointClient(stage="shop", endpoint="text", **options)


def result_of(call: Callable[[], Any]) -> str:
    """Return the output of a call, or the name of its error."""
    try:
        return str(call()["Y"].ravel().tolist())
    except NoCopies as error:
        return type(error).__name__


def test_calls_of_a_component_that_scales_to_zero(
    endpoint: Path, new_barrier: Callable[[], Barrier], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Longer pauses would exceed the idle time of the component.
    monkeypatch.setattr("endpoint_client._retries.MAX_PAUSE", 0.2)
    barrier = new_barrier()
    s3: Any = boto3.client("s3")
    waiting = client(wait_until_ready=3600)

    async def invoke_concurrently() -> Any:
        async with AsyncEndpointClient(waiting) as asynchronous:
            cancelled_call = asyncio.create_task(asynchronous.invoke("twice", INPUTS))
            calls = [asyncio.create_task(asynchronous.invoke("twice", INPUTS)) for _ in range(8)]
            await asyncio.to_thread(barrier.wait_until_reached)
            cancelled_call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled_call
            results_while_starting.append(result_of(lambda: not_waiting.invoke("twice", INPUTS)))
            barrier.open()
            return [outputs["Y"].tolist() for outputs in await asyncio.gather(*calls)]

    results_while_starting: list[str] = []
    with client() as not_waiting, waiting, ThreadPoolExecutor() as threads:
        # A call may have to wake the copy, if the machine is slow.
        eventually(lambda: result_of(lambda: not_waiting.invoke("twice", INPUTS)) == "[14.0]")

        eventually(lambda: copies() == 0)
        slow = pack_python(endpoint / "slow" / "twice", barrier.stops(2, at="initialize"))
        s3.put_object(**ARCHIVE, Body=slow)
        assert result_of(lambda: not_waiting.invoke("twice", INPUTS)) == "NoCopies"

        rows = {"X": [[float(number)] for number in range(40)]}
        thread = threads.submit(waiting.invoke, "twice", INPUTS)
        many = threads.submit(waiting.invoke_many, "twice", rows)
        assert asyncio.run(invoke_concurrently()) == [[[14.0]]] * 8
        assert results_while_starting == ["NoCopies"]
        assert result_of(thread.result) == "[14.0]"
        assert many.result()["Y"].ravel().tolist() == [2.0 * number for number in range(40)]

        eventually(lambda: copies() == 0)
        assert result_of(lambda: not_waiting.invoke("twice", INPUTS)) == "NoCopies"
        assert result_of(lambda: waiting.invoke("twice", INPUTS)) == "[14.0]"
