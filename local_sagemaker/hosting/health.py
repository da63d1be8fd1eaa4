"""The health checks of a container that is in service.

SageMaker pings every container, and gives a ping 2 s (developer guide, "Custom Inference Code with
Hosting Services"); a busy laptop may take longer. How often it pings, and what it does about
failures after the first success, is documented nowhere. Two other sources say that they have
consequences: Triton's authors answer 200 "even if model load has failed separately for some other
models", which SageMaker "expects" (triton-inference-server/server#5298), and Deepgram sees
instances replaced (developers.deepgram.com, "Health Checks & Automatic Recovery"). Triton itself
answers 400 while any model is loaded, and for good once one has failed, unless the container has
the variable SAGEMAKER_TRITON_PING_MODE: replaced after some failures, it would never finish a long
load. So failures are reported, and no container is replaced for them.
"""

from collections.abc import Callable

from local_sagemaker.happenings import HappeningKind
from local_sagemaker.hosting.triton import Triton

PING_SECONDS = 5.0
PING_TIMEOUT_SECONDS = 30.0


def wait_for_end(triton: Triton, report: Callable[[HappeningKind, str], None]) -> None:
    """Ping a server until it ends; report the first failure, and the first success after one."""
    failed = False
    while not triton.wait(PING_SECONDS):
        problem = triton.failed_ping(PING_TIMEOUT_SECONDS)
        if problem is None and failed:
            report(
                HappeningKind.INSTANCE_HEALTHY, "The container passes the ping health check again."
            )
        if problem is not None and not failed:
            message = f"The container fails the ping health check: {problem}. It keeps serving."
            report(HappeningKind.INSTANCE_UNHEALTHY, message)
        failed = problem is not None
