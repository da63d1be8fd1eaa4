"""TensorRT engines: jobs for the GPU step, runners of jobs, and accepted results."""
