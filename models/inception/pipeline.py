"""The pictures that InceptionV3 takes, out of JPEG files."""

from nvidia.dali import Pipeline, fn, pipeline_def, types

SIZE = 299


def preprocess() -> Pipeline:
    """JPEG bytes, UINT8 [batch, bytes], to images, FP32 [batch, 299, 299, 3] from -1 to 1.

    All of it on the CPU: for a GPU target, the builder moves the decoder and what follows it.
    """

    @pipeline_def(
        batch_size=1,  # Triton sets its own, and threads and device
        num_threads=1,
        device_id=None,
        seed=0,  # nothing is random, but the same file every time
        output_dtype=[types.FLOAT],
        output_ndim=[3],
    )
    def pipeline():
        encoded = fn.external_source(device="cpu", name="DALI_INPUT_0", dtype=types.UINT8, ndim=1)
        images = fn.decoders.image(encoded, device="cpu", output_type=types.RGB)
        images = fn.resize(images, resize_x=SIZE, resize_y=SIZE)
        return fn.crop_mirror_normalize(
            images,
            crop=(SIZE, SIZE),
            dtype=types.FLOAT,
            mean=[127.5] * 3,
            name="DALI_OUTPUT_0",
            output_layout="HWC",
            std=[127.5] * 3,
        )

    return pipeline()
