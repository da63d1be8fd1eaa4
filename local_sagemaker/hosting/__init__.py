"""The instances behind an endpoint: Triton processes in SageMaker mode."""
