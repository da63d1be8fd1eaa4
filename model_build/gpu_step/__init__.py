"""The GPU step: an engine job in, a TensorRT plan and its answers out.

A program of its own, for NVIDIA's image of the release: `python3 -m gpu_step JOB RESULT`. It needs
the standard library, from Python 3.8 on, the image's `tensorrt` and the driver, and installs
nothing, so that nothing can disagree with the image. It knows nothing of the rest of `model_build`,
which writes its jobs and judges its results.
"""
