#!/usr/bin/env bash
# The AWS CLI: list endpoints, and invoke a model of a multi-model endpoint with JSON.
#
#     docs/examples/clients/aws_cli.sh prod-text times.tar.gz 7
set -euo pipefail
endpoint=$1 target_model=$2 number=$3
folder=$(mktemp --directory)
trap 'rm -r "$folder"' EXIT

aws sagemaker list-endpoints --query 'Endpoints[].[EndpointName, EndpointStatus]' --output text

cat > "$folder/request.json" <<JSON
{"inputs": [{"name": "X", "datatype": "FP32", "shape": [1, 1], "data": [$number]}]}
JSON
# fileb:// sends the file unchanged, in versions 1 and 2 of the CLI.
aws sagemaker-runtime invoke-endpoint \
  --endpoint-name "$endpoint" \
  --target-model "$target_model" \
  --content-type application/json \
  --body "fileb://$folder/request.json" \
  --query ContentType --output text \
  "$folder/response.json"
cat "$folder/response.json"
