"""The DALI pipeline that decodes JPEG files for InceptionV3."""

from nvidia.dali import Pipeline, fn, pipeline_def, types

SIZE = 299


def preprocess() -> Pipeline:
    """Return the pipeline: JPEG bytes UINT8 [batch, bytes], images FP32 [batch, 299, 299, 3].

    Pixels are from -1 to 1. The pipeline runs on the CPU; for GPU targets, the builder moves the
    decoder and its successors to the GPU.
    """

    @pipeline_def(
        batch_size=1,  # Triton sets batch size, threads and device
        num_threads=1,
        device_id=None,
        seed=0,  # without a seed, DALI writes a random one into the file
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
