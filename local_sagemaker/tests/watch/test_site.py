import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from local_sagemaker.tests.conftest import served
from local_sagemaker.watch import site
from local_sagemaker.watch.site import Site


@pytest.fixture
def asked() -> list[dict[str, int]]:
    """With what the state was asked for."""
    return []


@pytest.fixture
def application(asked: list[dict[str, int]], tmp_path: Path) -> Site:
    (tmp_path / "page.js").write_text("let it;")
    (tmp_path / "index.html").write_text("<p>")
    files = {"": tmp_path / "index.html", "page.js": tmp_path / "page.js"}

    def state(**given: int) -> Any:
        asked.append(given)
        return {"now": 7}

    return Site(state, {**files, "uplot.js": tmp_path / "uPlot.js"})


@asynccontextmanager
async def ask(
    application: Site, path: str, method: str = "GET", **headers: str
) -> AsyncIterator[tuple[aiohttp.ClientResponse, bytes]]:
    async with served(application) as port, aiohttp.ClientSession() as session:
        url = f"http://127.0.0.1:{port}{path}"
        async with session.request(method, url, headers=headers) as answer:
            yield answer, await answer.read()


@pytest.mark.parametrize(
    ("query", "expected"),
    [("", {}), ("?after=7", {"after": 7}), ("?after=7&since=1700000000", None)],
)
async def test_the_state_is_json_that_nobody_keeps(
    application: Site, asked: list[Any], query: str, expected: dict[str, int] | None
) -> None:
    async with ask(application, f"/_local_sagemaker/state{query}") as (answer, body):
        assert (answer.status, json.loads(body)) == (200, {"now": 7})
        assert answer.headers["Content-Type"] == "application/json"
        assert answer.headers["Cache-Control"] == "no-store"
    assert asked == [{"after": 7, "since": 1700000000} if expected is None else expected]


@pytest.mark.parametrize("query", ["after=x", "after=-1", "after=", "since=1.5", "until=1", "a"])
async def test_what_is_no_number_is_refused(
    application: Site, asked: list[Any], query: str
) -> None:
    async with ask(application, f"/_local_sagemaker/state?{query}") as (answer, body):
        assert (answer.status, asked) == (400, [])
        assert body == b"Ask for ?after=SEQUENCE&since=SECOND, both whole numbers.\n"


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"])
@pytest.mark.parametrize(
    "path", ["/_local_sagemaker/", "/_local_sagemaker/state", "/_local_sagemaker/none"]
)
async def test_nothing_can_be_changed(application: Site, path: str, method: str) -> None:
    async with ask(application, path, method) as (answer, body):
        assert (answer.status, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert body == b"Nothing can be changed here: GET and HEAD only.\n"


@pytest.mark.parametrize(
    "path", ["/_local_sagemaker", "/_local_sagemaker/", "/_local_sagemaker/state"]
)
def test_paths_below_the_prefix_are_the_sites(path: str) -> None:
    assert site.is_for({"path": path})


@pytest.mark.parametrize(
    "path", ["/", "/bucket/key", "/_local_sagemakerx/state", "/x/_local_sagemaker/state"]
)
def test_other_paths_are_those_of_aws(path: str) -> None:
    assert not site.is_for({"path": path})


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/_local_sagemaker/", 200),
        ("/_local_sagemaker/state", 200),
        ("/_local_sagemaker/none", 404),
    ],
)
async def test_every_answer_lets_the_page_ask_only_this_server(
    application: Site, path: str, status: int
) -> None:
    async with ask(application, path) as (answer, _):
        assert answer.status == status
        policy = answer.headers["Content-Security-Policy"]
        assert policy == "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"
        assert answer.headers["X-Content-Type-Options"] == "nosniff"


async def test_files_are_kept_until_they_change(application: Site, tmp_path: Path) -> None:
    async with ask(application, "/_local_sagemaker/page.js") as (answer, body):
        assert (answer.status, body) == (200, b"let it;")
        assert answer.headers["Content-Type"] == "text/javascript; charset=utf-8"
        assert answer.headers["Cache-Control"] == "no-cache"
        tag = answer.headers["ETag"]
    known = {"If-None-Match": tag}
    async with ask(application, "/_local_sagemaker/page.js", **known) as (answer, body):
        assert (answer.status, body) == (304, b"")
    (tmp_path / "page.js").write_text("let that;")
    async with ask(application, "/_local_sagemaker/page.js", **known) as (answer, body):
        assert (answer.status, body) == (200, b"let that;")


async def test_who_forgets_the_slash_is_led_to_the_page(application: Site) -> None:
    async with ask(application, "/_local_sagemaker") as (answer, body):
        assert (answer.status, answer.url.path, body) == (200, "/_local_sagemaker/", b"<p>")


async def test_a_head_has_no_body(application: Site) -> None:
    async with ask(application, "/_local_sagemaker/", "HEAD") as (answer, body):
        assert (answer.status, answer.headers["Content-Length"], body) == (200, "3", b"")


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("none", "There is no /_local_sagemaker/none; the page is at /_local_sagemaker/."),
        (
            "..%2fsite.py",
            "There is no /_local_sagemaker/../site.py; the page is at /_local_sagemaker/.",
        ),
        (
            "index.html",
            "There is no /_local_sagemaker/index.html; the page is at /_local_sagemaker/.",
        ),
        ("uplot.js", "uPlot.js is not installed: run make install."),
    ],
)
async def test_what_is_not_there_is_said(application: Site, path: str, message: str) -> None:
    async with ask(application, f"/_local_sagemaker/{path}") as (answer, body):
        assert (answer.status, body.decode()) == (404, f"{message}\n")


def test_all_files_of_the_page_are_served_and_are_there() -> None:
    here = {it.name for it in site.PAGE.iterdir()}
    served_here = {it.name for it in site.FILES.values() if it.parent == site.PAGE}
    assert served_here == here
    assert {it.suffix for it in site.FILES.values()} <= set(site._TYPES)
