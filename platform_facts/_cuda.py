def cuda_satisfies(*, offered: str, needed: str) -> bool:
    """Whether a driver that carries CUDA `offered` runs an image built with CUDA `needed`.

    Only the majors count. CUDA's minor-version compatibility lets any 12.x image run on the driver
    of any 12.y, and R580 (13.0) run every 13.x image; a driver of a newer major runs older ones.

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
