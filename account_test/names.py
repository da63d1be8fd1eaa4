"""Names of the resources of a run."""

STAGE, ENDPOINT, MODEL = "triton-acctest", "cpu", "probe"
MODELS_STACK, ENDPOINT_STACK = f"{STAGE}-models", f"{STAGE}-{ENDPOINT}"
ENDPOINT_NAME = ENDPOINT_STACK
"""An endpoint has the name of its stack."""
TAG = "triton-acctest"
"""Tag key of all resources."""
FREE = f"{STAGE}-free"
"""Name of the role and the model of the free steps, and prefix of their configurations."""
VARIANTS = f"{STAGE}-variants"
"""Name of the endpoint configuration with a second variant."""
VARIANT = "AllTraffic"
