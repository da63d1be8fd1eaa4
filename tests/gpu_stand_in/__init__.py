"""A simulated NVIDIA GPU for Python processes with this folder on PYTHONPATH.

`sitecustomize` replaces the CUDA driver library in ctypes by one that uses the memory of the
process; `tensorrt` is a module with the recorded API of one version and marked plans.
"""
