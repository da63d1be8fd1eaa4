"""What a SageMaker multi-model endpoint cannot serve."""

from collections.abc import Iterator

from model_build.repository import CONFIG, Repository


def multi_model_rules(repository: Repository) -> Iterator[str]:
    """No decoupled models, no pinned GPUs.

    Triton's SageMaker front end answers a request with exactly one response
    (src/sagemaker_server.cc); multi-model endpoints run on instances with a single GPU.
    """
    for directory, config in repository.configs.items():
        path = repository.named(directory, CONFIG)
        if config.model_transaction_policy.decoupled:
            yield f"{path}: decoupled models cannot be invoked on SageMaker: remove decoupled: true"
        for group in config.instance_group:
            if group.gpus:
                yield f"{path}: instance_group pins gpus {list(group.gpus)}: remove gpus"
