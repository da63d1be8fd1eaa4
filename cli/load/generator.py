"""Send requests to the models of endpoints with endpoint_client."""

from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from cli.load import request_inputs
from cli.load.deployed import DeployedEndpoint
from cli.load.mix import Mix, ModelTarget
from cli.load.ramp import Objective, Ramp
from cli.load.report import StepTable
from cli.load.request_inputs import Request
from cli.load.step import LoadStep, Send, closed_loop, open_loop, poisson_arrivals
from delivery.smoke import WAKE_SECONDS
from endpoint_client import AsyncEndpointClient

Level = Literal["rate", "callers"]
"""The level of a load: the rate of an open loop, or the number of callers of a closed loop."""
MAX_CALLERS = 256
"""Maximum number of concurrent calls: more threads of one process do not increase the rate."""


@dataclass(frozen=True, kw_only=True)
class Generator:
    """A generator of requests of a mix; `inputs` is the option `--inputs`.

    A step lasts `seconds`; `timeout` is the time limit of a call in seconds.
    """

    mix: Mix
    objective: Objective
    endpoints: Sequence[DeployedEndpoint]
    inputs: str | None
    models: Path
    seconds: float
    timeout: float
    random: np.random.Generator

    def warm_up(self) -> Iterator[Request]:
        """Invoke each model with each of its inputs to load it; return random requests.

        The client retries while SageMaker loads a model or starts an inference component. Raise
        `EndpointError`, also for inputs that do not match a model, and `CommandError`.
        """
        requests: dict[ModelTarget, list[Request]] = {}
        for endpoint in self.endpoints:
            with endpoint.client(wait_until_ready=WAKE_SECONDS) as client:
                for target in (target for target in self.mix if target.endpoint == endpoint.name):
                    entry = client.resolve(target.model)
                    requests[target] = request_inputs.model_requests(
                        target, entry, self.inputs, self.models, self.random
                    )
                    for request in requests[target]:
                        client.invoke(target.model, request.inputs)
        return request_inputs.random_requests(self.mix, requests, self.random)

    async def measure(self, level_name: Level, ramp: Ramp) -> list[LoadStep]:
        """Load each model, run the steps, and return them."""
        requests, table = self.warm_up(), StepTable(level_name)
        table.print_header()
        async with self._sender() as send:

            async def run_step(level: float) -> LoadStep:
                if level_name == "rate":
                    times = poisson_arrivals(level, self.seconds, self.random)
                    return await open_loop(
                        send, requests, level, self.seconds, self.objective.max_errors, times
                    )
                return await closed_loop(
                    send, requests, round(level), self.seconds, self.objective.max_errors
                )

            return await ramp.run(run_step, self.objective, table.print_step)

    def result(self, level_name: Level, steps: Sequence[LoadStep]) -> dict[str, Any]:
        """Return the measurements, as `--json` and `--html` contain them."""
        return {
            "level": level_name,
            "mix": {"/".join(target): share for target, share in self.mix.items()},
            "endpoints": {endpoint.name: endpoint.description for endpoint in self.endpoints},
            "objective": self.objective,
            "steps": steps,
        }

    @asynccontextmanager
    async def _sender(self) -> AsyncIterator[Send]:
        """Provide a function that sends a request without retries, so that errors are counted."""
        clients: dict[str, AsyncEndpointClient] = {}
        async with AsyncExitStack() as stack:
            for endpoint in self.endpoints:
                client = AsyncEndpointClient(
                    endpoint.client(max_attempts=1), concurrency=MAX_CALLERS
                )
                clients[endpoint.name] = await stack.enter_async_context(client)
            for target in self.mix:
                await clients[target.endpoint].resolve(target.model)

            async def send(request: Request) -> object:
                client, model = clients[request.target.endpoint], request.target.model
                return await client.invoke(model, request.inputs, timeout=self.timeout)

            yield send
