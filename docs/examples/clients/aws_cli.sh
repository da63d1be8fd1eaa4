#!/usr/bin/env bash
# The AWS CLI: which endpoints there are, and one model of a multi-model endpoint, asked in JSON.
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
# fileb:// sends the file as it is, in versions 1 and 2 of the CLI.
aws sagemaker-runtime invoke-endpoint \
  --endpoint-name "$endpoint" \
  --target-model "$target_model" \
  --content-type application/json \
  --body "fileb://$folder/request.json" \
  --query ContentType --output text \
  "$folder/answer.json"
cat "$folder/answer.json"
