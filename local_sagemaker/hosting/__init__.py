"""What stands behind an endpoint: Triton processes in SageMaker mode."""
