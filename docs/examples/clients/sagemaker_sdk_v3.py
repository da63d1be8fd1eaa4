"""SageMaker Python SDK v3: list endpoints, and invoke a model of one endpoint with JSON.

python docs/examples/clients/sagemaker_sdk_v3.py prod-text times.tar.gz 7
"""

import json
import sys

from sagemaker.core.resources import Endpoint

endpoint_name, target_model, number = sys.argv[1:]

for endpoint in Endpoint.get_all():
    print(endpoint.endpoint_name, endpoint.endpoint_status)

tensor = {"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [float(number)]}
response = Endpoint.get(endpoint_name).invoke(
    body=json.dumps({"inputs": [tensor]}),
    content_type="application/json",
    target_model=target_model,
)
print(response.content_type)
print(response.body.read().decode())
