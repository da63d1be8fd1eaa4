"""Health checks of a container in service.

SageMaker pings every container with a timeout of 2 s (developer guide, "Custom Inference Code with
Hosting Services"); here it is longer, for busy laptops. The interval, and the reaction to failures
after the first success, are not documented. Two other sources indicate that SageMaker reacts:
Triton's authors answer 200 "even if model load has failed separately for some other models", which
SageMaker "expects" (triton-inference-server/server#5298), and Deepgram reports replaced instances
(developers.deepgram.com, "Health Checks & Automatic Recovery"). Triton answers 400 while any model
is loading, and permanently after a failed load, unless the container has the variable
SAGEMAKER_TRITON_PING_MODE. If such a container were replaced, a long load would never finish.
Therefore the local SageMaker only reports failures, and does not replace the container.
"""

from collections.abc import Callable

from local_sagemaker.dashboard_events import EventKind
from local_sagemaker.hosting.triton import Triton

PING_SECONDS = 5.0
PING_TIMEOUT_SECONDS = 30.0


def ping_until_end(triton: Triton, report: Callable[[EventKind, str], None]) -> None:
    """Ping a server until it ends; report when pings begin to fail, and when they succeed again."""
    failed = False
    while not triton.wait(PING_SECONDS):
        problem = triton.failed_ping(PING_TIMEOUT_SECONDS)
        if problem is None and failed:
            report(EventKind.INSTANCE_HEALTHY, "The container passes the ping health check again.")
        if problem is not None and not failed:
            message = f"The container fails the ping health check: {problem}. It keeps serving."
            report(EventKind.INSTANCE_UNHEALTHY, message)
        failed = problem is not None
