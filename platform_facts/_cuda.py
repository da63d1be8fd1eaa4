def cuda_satisfies(*, offered: str, needed: str) -> bool:
    """Return whether a driver with CUDA `offered` runs an image built with CUDA `needed`.

    Only major versions count: by CUDA's minor-version compatibility, a driver of any 12.y runs all
    12.x images, and R580 (13.0) runs all 13.x images. Newer drivers run images of older majors.

    Both are dotted versions such as "12.4" or "13.2.0.046"; anything else raises ValueError.

    Source: aws/deep-learning-containers, test/test_utils/constants.py, which runs every CUDA 12
    image on an AMI with CUDA 12.4 and every CUDA 13 image on one with 13.0; NVIDIA, "CUDA
    Compatibility", minor-version compatibility.
    """
    return _major(offered) >= _major(needed)


def _major(version: str) -> int:
    major, dot, _ = version.partition(".")
    if not dot or not major.isdecimal():
        raise ValueError(f'"{version}" is not a CUDA version: write it like "12.4"')
    return int(major)
