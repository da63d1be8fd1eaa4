"""An hour of load and faults on one local AWS: `python -m bench.soak`."""
