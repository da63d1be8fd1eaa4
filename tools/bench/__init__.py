"""Benchmarks: this project and an alternative, measured in turns."""

BENCHMARKS = {
    "synth": "Synthesis",
    "build": "Building and publishing models",
    "review": "Review of a change",
    "deploy": "Deploying to the local SageMaker",
    "cold_start": "Cold start",
    "endpoint": "Invocations",
    "evictions": "Many models on one instance",
    "tune": "Tuned settings of models",
}
"""Titles of the benchmarks, by module."""
