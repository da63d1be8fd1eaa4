"""The stacks of this repository on a laptop: an AWS emulator, and a real Triton behind it."""
