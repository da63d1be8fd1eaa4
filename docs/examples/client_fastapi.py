"""A FastAPI service that returns the embeddings of texts.

STAGE=dev uvicorn client_fastapi:app
"""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, HTTPException, Request

from endpoint_client import AsyncEndpointClient, EndpointClient, EndpointError, InvalidInput


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Create one client for all requests, and close it at shutdown."""
    client = EndpointClient(stage=os.environ["STAGE"], endpoint="text")
    async with AsyncEndpointClient(client) as app.state.models:
        yield


app = FastAPI(lifespan=lifespan)


@app.post("/embeddings")
async def embeddings(texts: list[str], request: Request) -> list[list[float]]:
    """Return one vector per text."""
    models: AsyncEndpointClient = request.app.state.models
    try:
        outputs = await models.invoke_many("minilm", {"TEXT": texts}, timeout=10)
    except InvalidInput as error:
        raise HTTPException(400, str(error)) from error
    except EndpointError as error:
        raise HTTPException(503 if error.retry_safe else 502, str(error)) from error
    vectors: list[list[float]] = outputs["EMBEDDING"].tolist()
    return vectors
