"""Load and faults on one local SageMaker: `python -m local_sagemaker.bench.soak`."""
