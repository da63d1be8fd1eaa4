import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import aiohttp
import pytest

from local_sagemaker.tests.conftest import served
from local_sagemaker.watch import web_app
from local_sagemaker.watch.web_app import DashboardApp


@pytest.fixture
def requests() -> list[dict[str, int]]:
    """The parameters of each request for the state."""
    return []


@pytest.fixture
def application(requests: list[dict[str, int]]) -> DashboardApp:
    def state(**numbers: int) -> Any:
        requests.append(numbers)
        return {"now": 7}

    return DashboardApp(state)


@asynccontextmanager
async def get(
    application: DashboardApp, path: str, method: str = "GET", **headers: str
) -> AsyncIterator[tuple[aiohttp.ClientResponse, bytes]]:
    async with served(application) as port, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{port}{path}"
        async with session.request(method, url, headers=headers) as answer:
            yield answer, await answer.read()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", {}), ("?after=7", {"after": 7}), ("?after=7&since=1700000000", None)],
)
async def test_state_is_uncached_json(
    application: DashboardApp, requests: list[Any], query: str, expected: dict[str, int] | None
) -> None:
    async with get(application, f"/_local_sagemaker/state{query}") as (answer, body):
        assert (answer.status, json.loads(body)) == (200, {"now": 7})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
    assert requests == [{"after": 7, "since": 1700000000} if expected is None else expected]


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "since=1.5", "until=1", "a"])
async def test_invalid_query_is_refused(
    application: DashboardApp, requests: list[Any], query: str
) -> None:
    async with get(application, f"/_local_sagemaker/state?{query}") as (answer, body):
        assert (answer.status, requests) == (400, [])
        assert body == b"Write ?after=SEQUENCE&since=SECOND, both whole numbers.\n"


@pytest.mark.parametrize("path", ["/_local_sagemaker/", "/_local_sagemaker/state"])
async def test_other_methods_are_refused(application: DashboardApp, path: str) -> None:
    async with get(application, path, "POST") as (answer, body):
        assert (answer.status, body) == (405, b"The dashboard is read-only: use GET.\n")


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/_local_sagemaker/", 200),
        ("/_local_sagemaker/state", 200),
        ("/_local_sagemaker/none", 404),
    ],
)
async def test_security_headers(application: DashboardApp, path: str, status: int) -> None:
    async with get(application, path) as (answer, _):
        assert answer.status == status
        policy = answer.headers["Content-Security-Policy"]
        assert policy == "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "There is no /_local_sagemaker/none; the page is at /_local_sagemaker/."),
        ("..%2fweb_app.py",
         "There is no /_local_sagemaker/../web_app.py; the page is at /_local_sagemaker/."),
    ],
)  # fmt: skip
async def test_unknown_path_is_refused(application: DashboardApp, path: str, message: str) -> None:
    async with get(application, f"/_local_sagemaker/{path}") as (answer, body):
        assert (answer.status, body.decode()) == (404, f"{message}\n")


@pytest.mark.parametrize("name", web_app.FILES)
async def test_files_of_the_dashboard_are_served(application: DashboardApp, name: str) -> None:
    async with get(application, f"/_local_sagemaker/{name}") as (answer, body):
        assert (answer.status, body) == (200, web_app.FILES[name].read_bytes())
