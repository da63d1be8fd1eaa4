"""boto3 clients with a time-out per request."""

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

from endpoint_client._errors import translate_errors

CONNECT_SECONDS = 5.0
MAX_CONNECTIONS = 1024
"""Size of the connection pool. botocore's default is 10, with a warning for each further one."""

CONFIG = Config(
    retries={"total_max_attempts": 1},
    user_agent=f"triton-sagemaker Botocore/{botocore.__version__}",
)
"""No retries: botocore's standard mode would retry after a time-out, when the model may have run. A
fixed user agent: botocore builds its own twice per call, which takes a sixth of the CPU time."""

REQUEST_TIMEOUT: ContextVar[float] = ContextVar("REQUEST_TIMEOUT")
"""Time-out of this thread's next request, in seconds."""


class Transport:
    """Sender of boto3's signed requests, in place of botocore's HTTP session.

    botocore's session has one time-out for all calls of a client. The hook is the event
    `before-send` (botocore/endpoint.py).
    """

    def __init__(self, session: boto3.Session) -> None:
        self._session = session
        self._managers: dict[tuple[int, str], urllib3.PoolManager] = {}
        # Certificates are read once, since reading takes 15 ms of CPU time.
        self._tls = create_urllib3_context()
        configured: Any = session._session.get_config_variable("ca_bundle")
        bundle = configured or os.environ.get("REQUESTS_CA_BUNDLE") or get_cert_path(True)
        with translate_errors(f"cannot read the CA bundle {bundle}"):
            self._tls.load_verify_locations(bundle)

    def client(self, service: Any) -> Any:
        """Return a client for a service."""
        client: Any = self._session.client(service, config=CONFIG)
        client.meta.events.register("before-send", self._send)
        return client

    def close(self) -> None:
        """Close the connections; calls in progress close theirs when they complete."""
        managers, self._managers = self._managers, {}
        for manager in tuple(managers.values()):  # a copy, since a call may add a manager
            for key in tuple(manager.pools.keys()):
                manager.pools[key].close()

    def _send(self, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        seconds = REQUEST_TIMEOUT.get()
        response: Any = self._manager(request.url).urlopen(
            request.method,
            request.url,
            body=request.body,
            headers=dict(request.headers.items()),
            # A shorter time-out to connect, so that a time-out shows whether the request was sent.
            timeout=urllib3.Timeout(connect=min(CONNECT_SECONDS, seconds / 2), total=seconds),
            retries=False,
            preload_content=False,
            decode_content=False,
        )
        return AWSResponse(request.url, response.status, response.headers, response)

    def _manager(self, url: str) -> urllib3.PoolManager:
        """Return this process's connections to a service; forks must not share connections."""
        managers, key = self._managers, (os.getpid(), urlsplit(url).netloc)
        if key not in managers:
            options: dict[str, Any] = {"maxsize": MAX_CONNECTIONS, "ssl_context": self._tls}
            proxies = ProxyConfiguration(get_environ_proxies(url))
            manager: urllib3.PoolManager = urllib3.PoolManager(**options)
            if proxy := proxies.proxy_url_for(url):
                headers = proxies.proxy_headers_for(proxy)
                manager = urllib3.ProxyManager(proxy, proxy_headers=headers, **options)
            managers.setdefault(key, manager)
        return managers[key]
