"""A Lambda function that answers with the embedding of a text.

The client is made once for each environment, outside of the handler: connections and the catalog
entry stay. The function's timeout must be longer than the client's.
"""

import os
from typing import Any

from endpoint_client import EndpointClient, EndpointError, InvalidInput
from endpoint_client.metrics import EmfLogger

client = EndpointClient(stage=os.environ["STAGE"], endpoint="text", metrics=EmfLogger())


def handler(event: dict[str, Any], _: Any) -> dict[str, Any]:
    """Answer `{"texts": [...]}`."""
    try:
        outputs = client.invoke("minilm", {"TEXT": event["texts"]}, timeout=10)
    except InvalidInput as error:
        return {"statusCode": 400, "body": str(error)}
    except EndpointError as error:
        return {"statusCode": 503 if error.retry_safe else 502, "body": str(error)}
    return {"statusCode": 200, "body": outputs["EMBEDDING"].tolist()}
