"""Generated stages that together use every setting of a stage."""

from typing import Any

from platform_facts.rules.monitoring import THRESHOLDS
from stages import StageConfig

ACCOUNT = "111122223333"
TOPIC = "arn:aws:sns:eu-west-1:111122223333:others"

IMAGE = f"444455556666.dkr.ecr.us-west-1.amazonaws.com/teams/triton@sha256:{'0b' * 32}"
MIRROR = f"444455556666.dkr.ecr.eu-west-1.amazonaws.com/nvidia/tensorrt@sha256:{'0a' * 32}"

_TEXT = {"models": ["minilm"], "instance_type": "ml.g5.xlarge"}
KEY = "01234567-89ab-cdef-0123-456789abcdef"
_LONG = "a" * 31 + "z"


def _with(**changes: Any) -> dict[str, Any]:
    return {**_TEXT, **changes}


EVERY_STAGE: dict[str, dict[str, Any]] = {
    "all": {
        "account": ACCOUNT,
        "region": "eu-west-1",
        "release": "25.04",
        "production": True,
        "private_network": True,
        "zones": ["eu-west-1a", "eu-west-1b", "eu-west-1c"],
        "delivery": {"repository": "octo-org@1/octo-repo@2", "promotes_from": "tried"},
        "log_retention_days": 731,
        "gpu_build_images": {"25.04": MIRROR},
        "tags": {"Team": "search", "cost-centre/EU": "4711 + 4712"},
        "max_monthly_usd": 100_000.5,
        "cost_budget": True,
        "notify": {
            "email": ["a@example.com", "b@example.com"],
            "topics": [f"{TOPIC}{number}" for number in range(4)],
        },
        "endpoints": {
            "ten-variants": _with(
                models=["minilm", "bert"],
                instance_count=2,
                scaling={
                    "min_count": 2,
                    "max_count": 4,
                    "max_rps": 0.5,
                    "gpu_percent": 70,
                    "cpu_percent": 70,
                    "scale_in_cooldown_seconds": 900,
                    "scale_out_cooldown_seconds": 0,
                    "schedules": {
                        "evening": {
                            "at": "cron(0 20 ? * MON-FRI *)",
                            "timezone": "Europe/Berlin",
                            "min_count": 2,
                            "max_count": 3,
                        },
                        "launch": {"at": "at(2027-01-31T08:00:00)", "min_count": 4, "max_count": 8},
                    },
                },
                on_failure="keep",
                cache_models=False,
                data_capture={"percent": 10, "responses": False, "keep_days": 7},
                environment={"TOKENIZERS_PARALLELISM": "false"},
                server={
                    "log_verbose": 1,
                    "log_info": False,
                    "log_warning": True,
                    "log_error": True,
                    "thread_count": 16,
                    "buffer_manager_thread_count": 2,
                    "python_shm_default_mib": 64,
                    "python_shm_growth_mib": 8,
                    "model_load_gpu_limit": 0.8,
                    "model_namespacing": True,
                    "ping_mode": "live",
                    "additional_args": "--exit-timeout-secs=60",
                },
                update={"strategy": "linear", "percent": 10, "wait_seconds": 300},
                variants={
                    f"Variant-{number}": {"weight": number, "instance_type": "ml.g5.2xlarge"}
                    for number in range(10)
                },
            ),
            "rolling": _with(
                instance_count=2,
                hosting="single-model",
                instance_type="ml.g6e.12xlarge",
                update={"strategy": "rolling", "percent": 5},
                scaling={"min_count": 2, "max_count": 2, "concurrency": 5, "gpu_percent": 60},
                data_capture={},
                server={"inference_type": "infer", "ping_mode": "ready"},
            ),
        },
    },
    "plain": {
        "region": "us-west-1",  # where CodeBuild has no GPU
        "release": "24.09",
        "production": True,
        "notify": {"topics": ["arn:aws:sns:us-west-1:111122223333:others"]},
        "delivery": {"repository": "octo-org/octo-repo", "provider_exists": True},
        "endpoints": {
            "volumes": {
                "models": ["resnet50"],
                "instance_type": "ml.c5.2xlarge",
                "instance_count": 2,
                "scaling": {"min_count": 2, "max_count": 3, "cpu_percent": 60},
                "update": {
                    **{"strategy": "canary", "percent": 50, "wait_seconds": 3600},
                    "rollback_error_rate": 0.4,
                },
                "data_capture": {"requests": False},
                "publish_metrics": True,
                "server": {"allow_grpc": True, "grpc_port": 9001, "metrics_port": 9002},
                "image": {"uri": IMAGE, "backends": ["pytorch", "tokens"]},
                "detailed_observability": True,
                "alarms": {"model_latency_p50_ms": {"warning": 20}, "unloads_per_minute": {}},
            }
        },
    },
    "old": {
        "region": "us-east-1",
        "release": "23.05",
        "production": True,
        "notify": {"email": ["a@example.com"]},
        "endpoints": {
            "text": _with(
                instance_count=2, instance_type="ml.c5.xlarge", server={"tensorflow_version": 2}
            )
        },
    },
    "pooled": {
        "region": "us-east-1",
        "release": "25.09",
        "production": True,
        "notify": {"email": ["a@example.com"]},
        "unconfirmed": ["pools"],
        "endpoints": {
            "text": {
                "models": ["minilm"],
                "hosting": "single-model",
                "instance_types": ["ml.g6.xlarge", "ml.g5.xlarge", "ml.g5.2xlarge"],
                "provision_timeout_minutes": 15,
                "download_timeout_minutes": 20,
                "startup_timeout_minutes": 25,
                "instance_count": 2,
                "client_metrics": True,
                "scaling": {
                    "min_count": 2,
                    "max_count": 4,
                    "concurrency": {"ml.g6.xlarge": 12, "ml.g5.xlarge": 16, "ml.g5.2xlarge": 16},
                },
            }
        },
    },
    "components": {
        "region": "us-east-1",
        "release": "25.09",
        "production": True,
        "private_network": True,
        "notify": {"email": ["a@example.com"]},
        "unconfirmed": ["components"],
        "delivery": {"repository": "octo-org/octo-repo"},
        "endpoints": {
            "text": {
                "models": ["minilm", "bert"],
                "hosting": "components",
                "instance_type": "ml.g5.2xlarge",
                "instances": {"min": 0, "max": 4},
                "update": {"strategy": "rolling", "percent": 50, "wait_seconds": 120},
                "client_metrics": True,
                "components": {
                    "minilm": {
                        "copies": {"min": 0, "max": 4, "max_rps": 60},
                        "memory_mb": 4096,
                        "accelerators": 1,
                        "cpus": 2,
                    },
                    "bert": {
                        "copies": {
                            "min": 2,
                            "max": 4,
                            "concurrency": 8,
                            "scale_in_cooldown_seconds": 900,
                            "scale_out_cooldown_seconds": 0,
                        },
                        "memory_mb": 2048,
                        "accelerators": 1,
                    },
                },
            },
            "volumes": {
                "models": ["resnet50"],
                "hosting": "components",
                "instance_type": "ml.c5.2xlarge",
                "instances": {"min": 2, "max": 2},
                "download_timeout_minutes": 15,
                "startup_timeout_minutes": 20,
                "volume_size_gb": 100,
                "instance_count": 2,
                "components": {
                    "resnet50": {"copies": {"min": 2, "max": 2}, "memory_mb": 1024, "cpus": 0.5}
                },
            },
        },
    },
    "china": {
        "account": ACCOUNT,
        "region": "cn-north-1",
        "release": "25.04",
        "production": True,
        "private_network": True,
        "delivery": {"repository": "octo-org/octo-repo", "promotes_from": "tried"},
        "notify": {"email": ["a@example.com"]},
        "endpoints": {"text": _with(instance_count=2)},
    },
    "existing": {
        "account": ACCOUNT,
        "region": "eu-west-1",
        "release": "25.04",
        "production": True,
        "notify": {"email": ["a@example.com"]},
        "delivery": {"repository": "octo-org/octo-repo"},
        "existing": {
            "vpc_id": "vpc-0123456789abcdef0",
            "subnet_ids": ["subnet-0123456789abcdef0", "subnet-0123456789abcdef1"],
            "security_group_ids": ["sg-0123456789abcdef0"],
            "kms_key_arn": f"arn:aws:kms:eu-west-1:{ACCOUNT}:key/{KEY}",
            "permissions_boundary": "teams/boundary",
            "bootstrap_qualifier": "acme",
            "capture_bucket": "acme-captures",
        },
        "endpoints": {
            "text": _with(
                instance_count=2,
                data_capture={},
                alarms={name: {"warning": 0.5} for name in THRESHOLDS},
            ),
            "volumes": {
                "models": ["resnet50"],
                "instance_type": "ml.c5.2xlarge",
                "instance_count": 2,
                "publish_metrics": True,
            },
        },
    },
    "role": {
        "account": ACCOUNT,
        "region": "us-east-1",
        "release": "25.09",
        "existing": {"execution_role_arn": f"arn:aws:iam::{ACCOUNT}:role/teams/serving"},
        "endpoints": {"text": _TEXT, "vision": {**_TEXT, "models": ["resnet50"]}},
    },
    f"{_LONG[:29]}z": {  # with the endpoint's, 63 characters
        "region": "us-east-1",
        "release": "25.09",
        "production": True,
        "notify": {"email": ["a@example.com"]},
        "endpoints": {
            _LONG: _with(
                instance_count=2,
                scaling={"min_count": 2, "max_count": 4, "max_rps": 60},
                variants={"V" * 63: {}},
            )
        },
    },
}


def every_stage(name: str) -> StageConfig:
    """Return the test stage `name`."""
    return StageConfig.model_validate(EVERY_STAGE[name])
