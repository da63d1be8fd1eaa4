"""Names of what a run deploys."""

STAGE, ENDPOINT, MODEL = "triton-acctest", "cpu", "probe"
MODELS_STACK, ENDPOINT_STACK = f"{STAGE}-models", f"{STAGE}-{ENDPOINT}"
ENDPOINT_NAME = ENDPOINT_STACK
"""As the app names endpoints."""
TAG = "triton-acctest"
"""Key of a tag of every resource."""
FREE = f"{STAGE}-free"
"""Name of the role and the model of the free steps; their configurations' names begin so."""
VARIANTS = f"{STAGE}-variants"
"""Name of the endpoint configuration with a second variant."""
VARIANT = "AllTraffic"
