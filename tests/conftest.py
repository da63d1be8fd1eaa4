"""What holds for every test."""

import os

# The CDK's own checks of templates take seconds a synth; `make lint` has them of every stage. What
# cdk-nag finds fails a synth all the same. jsii's process inherits it, so it comes before the CDK.
os.environ["CDK_VALIDATION"] = "false"
