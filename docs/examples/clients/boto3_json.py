"""boto3: list endpoints, and invoke a model of a multi-model endpoint with JSON.

python docs/examples/clients/boto3_json.py prod-text times.tar.gz 7
"""

import json
import sys

import boto3

endpoint, target_model, number = sys.argv[1:]

for summary in boto3.client("sagemaker").list_endpoints()["Endpoints"]:
    print(summary["EndpointName"], summary["EndpointStatus"])

tensor = {"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [float(number)]}
response = boto3.client("sagemaker-runtime").invoke_endpoint(
    EndpointName=endpoint,
    TargetModel=target_model,
    ContentType="application/json",
    Body=json.dumps({"inputs": [tensor]}),
)
print(response["ContentType"])
print(response["Body"].read().decode())
