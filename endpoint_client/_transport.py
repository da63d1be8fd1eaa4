"""boto3's clients of the two services, with a time-out for each request."""

import os
from contextvars import ContextVar
from typing import Any
from urllib.parse import urlsplit

import boto3
import botocore
import urllib3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.config import Config
from botocore.httpsession import ProxyConfiguration, create_urllib3_context, get_cert_path
from botocore.utils import get_environ_proxies

from endpoint_client._errors import named

CONNECT_SECONDS = 5.0
MAX_CONNECTIONS = 1024
"""Those that are kept, for as many callers; botocore keeps 10, and warns of each other."""

CONFIG = Config(
    retries={"total_max_attempts": 1},
    user_agent=f"triton-sagemaker Botocore/{botocore.__version__}",
)
"""botocore's standard mode would send again after a time-out: the model may have run. Its own
user agent is put together twice a call, for a sixth of the CPU time."""

REQUEST_TIMEOUT: ContextVar[float] = ContextVar("REQUEST_TIMEOUT")
"""What the next request of this thread may take."""


class Transport:
    """Sends what boto3's clients sign, instead of botocore's HTTP session.

    That has one time-out for all calls of a client. The event is `before-send` of
    botocore/endpoint.py.
    """

    def __init__(self, session: boto3.Session) -> None:
        self._session = session
        self._managers: dict[tuple[int, str], urllib3.PoolManager] = {}
        # Certificates are read once: each connection would take 15 ms of CPU time for them.
        self._tls = create_urllib3_context()
        configured: Any = session._session.get_config_variable("ca_bundle")
        bundle = configured or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
        with named(f"cannot read the CA bundle {bundle}"):
            self._tls.load_verify_locations(bundle)

    def client(self, service: Any) -> Any:
        """Return a client of a service."""
        client: Any = self._session.client(service, config=CONFIG)
        client.meta.events.register("before-send", self._send)
        return client

    def close(self) -> None:
        """Close the connections, those of calls under way when they are answered."""
        managers, self._managers = self._managers, {}
        for manager in tuple(managers.values()):  # a call may add one
            for key in tuple(manager.pools.keys()):
                manager.pools[key].close()

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        seconds = REQUEST_TIMEOUT.get()
        answer: Any = self._manager(request.url).urlopen(
            request.method,
            request.url,
            body=request.body,
            headers=dict(request.headers.items()),
            # Half of a short time to connect: whichever ends first says whether it was sent.
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds / 2), total=seconds),
            retries=False,
            preload_content=False,
            decode_content=False,
        )
        return AWSResponse(request.url, answer.status, answer.headers, answer)

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Return the connections of this process to a service, as a fork must not share them."""
        managers, key = self._managers, (os.getpid(), urlsplit(url).netloc)
        if key not in managers:
            options: dict[str, Any] = {"maxsize": MAX_CONNECTIONS, "ssl_context": self._tls}
            proxies = ProxyConfiguration(get_environ_proxies(url))
            made: urllib3.PoolManager = urllib3.PoolManager(**options)
            if proxy := proxies.proxy_url_for(url):
                headers = proxies.proxy_headers_for(proxy)
                made = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)
            managers.setdefault(key, made)
        return managers[key]
