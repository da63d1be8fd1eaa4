"""What stands in for an NVIDIA GPU: with this folder on PYTHONPATH, a Python sees one.

`sitecustomize` gives ctypes a driver library whose memory is this process's, and `tensorrt` is a
module with the recorded names of one version, whose plans say that they are none.
"""
