"""SageMaker Python SDK v3: deploy a Model to an endpoint, and wait while reading its log.

python docs/examples/clients/sagemaker_sdk_v3_deploy.py ENDPOINT MODEL
"""

import sys

from sagemaker.core.helper.session_helper import Session, production_variant
from sagemaker.core.resources import Endpoint

endpoint_name, model_name = sys.argv[1:]

Session().endpoint_from_production_variants(
    endpoint_name, [production_variant(model_name, "ml.m5.xlarge")], live_logging=True
)
print(Endpoint.get(endpoint_name).endpoint_status)
