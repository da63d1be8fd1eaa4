"""boto3: which endpoints there are, and one model of a multi-model endpoint, asked in JSON.

python docs/examples/clients/boto3_json.py prod-text times.tar.gz 7
"""

import json
import sys

import boto3

endpoint, target_model, number = sys.argv[1:]

for each in boto3.client("sagemaker").list_endpoints()["Endpoints"]:
    print(each["EndpointName"], each["EndpointStatus"])

tensor = {"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [float(number)]}
answer = boto3.client("sagemaker-runtime").invoke_endpoint(
    EndpointName=endpoint,
    TargetModel=target_model,
    ContentType="application/json",
    Body=json.dumps({"inputs": [tensor]}),
)
print(answer["ContentType"])
print(answer["Body"].read().decode())
