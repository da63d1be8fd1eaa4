"""The GPU step: compiles a TensorRT plan from an engine job and runs it.

A separate program for NVIDIA's image of the release: `python3 -m gpu_step JOB RESULT`. It needs
only Python 3.10 or newer, the image's `tensorrt` and the driver, and imports nothing else of
`model_build`, which writes the jobs and checks the results.
"""
