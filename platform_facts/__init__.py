"""Capabilities and prices of AWS and NVIDIA.

Triton releases, regions, instance types, GPUs, prices.

Look-ups such as `release("25.09")` raise `UnknownFact` for an unknown name. The tables are the TOML
files of this package, which are read at first use. Every row of a table has a `source`; its key
`unsourced` lists the fields without one.
"""

# The modules are private because the public functions carry their names (regions, releases).
from platform_facts._backends import Backend, backend, backends
from platform_facts._compute_capability import AMPERE, ComputeCapability
from platform_facts._errors import UnknownFact, UnsupportedCombination
from platform_facts._gpus import Gpu, codebuild_gpu, gpu, gpus
from platform_facts._images import TRITON_REPOSITORY, ImageReference, Processor, image_uri
from platform_facts._instances import InstanceType, instance_type, instance_types
from platform_facts._prices import HOURS_PER_MONTH, Prices, prices
from platform_facts._regions import Region, region, regions
from platform_facts._releases import Release, oldest_release, release, releases, serve_option_since
from platform_facts._support import Support

__all__ = [
    "AMPERE",
    "HOURS_PER_MONTH",
    "TRITON_REPOSITORY",
    "Backend",
    "ComputeCapability",
    "Gpu",
    "ImageReference",
    "InstanceType",
    "Prices",
    "Processor",
    "Region",
    "Release",
    "Support",
    "UnknownFact",
    "UnsupportedCombination",
    "backend",
    "backends",
    "codebuild_gpu",
    "gpu",
    "gpus",
    "image_uri",
    "instance_type",
    "instance_types",
    "oldest_release",
    "prices",
    "region",
    "regions",
    "release",
    "releases",
    "serve_option_since",
]
