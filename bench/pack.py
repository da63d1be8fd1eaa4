"""Packing against `tar -czf`, on random float weights: `python -m bench.pack [MEBIBYTES]`.

Prints seconds, size and the ratios of one run; the default of 1024 MiB needs 4 GiB of disk.
"""

import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from model_build import archive

MIB = 1024 * 1024


def main(mebibytes: int) -> None:
    """Pack the same folder twice and print how the two compare."""
    with TemporaryDirectory() as scratch:
        folder = Path(scratch, "repository", "encoder", "1")
        folder.mkdir(parents=True)
        weights = np.random.default_rng(0).normal(0, 0.02, mebibytes * MIB // 4)
        weights.astype(np.float32).tofile(folder / "model.onnx")

        start = time.perf_counter()
        ours = archive.pack(Path(scratch, "repository"), Path(scratch, "ours.tar.gz"))
        our_seconds = time.perf_counter() - start

        start = time.perf_counter()
        theirs = Path(scratch, "theirs.tar.gz")
        subprocess.run(["tar", "-czf", theirs, "-C", f"{scratch}/repository", "."], check=True)
        their_seconds = time.perf_counter() - start

        size = theirs.stat().st_size
        print(f"model_build  {our_seconds:7.1f} s  {ours.bytes:>14,} bytes")
        print(f"tar -czf     {their_seconds:7.1f} s  {size:>14,} bytes")
        print(f"{their_seconds / our_seconds:.1f} times as fast, {ours.bytes / size:.4f} the size")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1024)
