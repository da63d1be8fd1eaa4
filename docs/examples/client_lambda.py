"""A Lambda function that returns the embeddings of texts.

The client is created outside of the handler, once per execution environment, so that connections
and the cached catalog entry are reused. The function's timeout must be longer than the client's.
"""

import json
import os
from typing import Any

from endpoint_client import EndpointClient, EndpointError, InvalidInput
from endpoint_client.metrics import EmfLogger

client = EndpointClient(stage=os.environ["STAGE"], endpoint="text", metrics=EmfLogger())


def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Return the embeddings for an event `{"texts": [...]}`, in the form of a proxy integration."""
    try:
        outputs = client.invoke("minilm", {"TEXT": event["texts"]}, timeout=10)
    except InvalidInput as error:
        return {"statusCode": 400, "body": str(error)}
    except EndpointError as error:
        return {"statusCode": 503 if error.retry_safe else 502, "body": str(error)}
    return {"statusCode": 200, "body": json.dumps(outputs["EMBEDDING"].tolist())}
