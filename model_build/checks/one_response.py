"""Every request gets one response."""

from collections.abc import Iterator

from model_build.findings import Place
from model_build.repository import Repository


def one_response(repository: Repository) -> Iterator[tuple[Place, str]]:
    """No decoupled models, whose number of responses varies.

    Triton's SageMaker front end answers a request with exactly one response
    (server src/sagemaker_server.cc).
    """
    for model in repository.models.values():
        if model.config.model_transaction_policy.decoupled:
            yield (
                model.at("model_transaction_policy", "decoupled"),
                "decoupled models cannot be invoked on SageMaker: remove decoupled: true",
            )
