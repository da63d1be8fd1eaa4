"""An hour of load and faults on one local SageMaker: `python -m bench.soak`."""
