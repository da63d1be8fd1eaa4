"""TensorRT engines: jobs for the GPU step, their runners, and the accepted results."""
