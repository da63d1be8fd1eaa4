"""SageMaker Python SDK v3: which endpoints there are, and one model of one, asked in JSON.

python docs/examples/clients/sagemaker_sdk_v3.py prod-text times.tar.gz 7
"""

import json
import sys

from sagemaker.core.resources import Endpoint

endpoint_name, target_model, number = sys.argv[1:]

for each in Endpoint.get_all():
    print(each.endpoint_name, each.endpoint_status)

tensor = {"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [float(number)]}
answer = Endpoint.get(endpoint_name).invoke(
    body=json.dumps({"inputs": [tensor]}),
    content_type="application/json",
    target_model=target_model,
)
print(answer.content_type)
print(answer.body.read().decode())
