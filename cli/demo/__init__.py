"""The main job end to end, on this machine: `make demo`."""
