"""TensorRT engines: jobs for the GPU step, who runs them, and the results that were accepted."""
