"""Attacks of web pages on the local SageMaker, in a real browser."""

import http.server
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from local_sagemaker.tests.support.running import LocalSageMaker, local_sagemaker_in
from local_sagemaker.tests.support.waiting import eventually
from local_sagemaker.tests.support.web_attacks import (
    BUCKET,
    KEY,
    SECRET,
    Attack,
    attacks,
    prepare,
    state,
)

SEND = """
async ({ url, method, body, headers, mode }) => {
  try {
    const options = { method, headers, mode, body: method === "GET" ? undefined : body };
    return await (await fetch(url, options)).text();
  } catch (error) {
    return String(error);
  }
}
"""
SUBMIT = """
({ url, fields }) => {
  const form = document.createElement("form"), frame = document.createElement("iframe");
  frame.name = "answer";
  Object.assign(form, { action: url, method: "post", target: "answer" });
  for (const [name, value] of Object.entries(fields)) {
    const input = document.createElement("input");
    Object.assign(input, { type: "hidden", name, value });
    form.append(input);
  }
  const loaded = new Promise((done) => { frame.onload = done; });
  document.body.append(frame, form);
  form.submit();
  return loaded.then(() => null);
}
"""
SHOW = """
(url) => new Promise((done) => {
  const image = new Image();
  image.onload = image.onerror = () => done();
  image.src = url;
})
"""


@pytest.fixture(scope="module")
def victim(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalSageMaker]:
    with local_sagemaker_in(tmp_path_factory.mktemp("local_sagemaker")) as aws:
        prepare()
        yield aws


class _EvilPage(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>kittens</title>")

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def _server_of_another_origin() -> Iterator[int]:
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _EvilPage) as server:
        threading.Thread(target=server.serve_forever).start()
        yield server.server_address[1]
        server.shutdown()


@pytest.fixture(params=["127.0.0.1", "localhost"])
def attacker_page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page of another origin; on `localhost` it is also another site than 127.0.0.1."""
    with _server_of_another_origin() as port:
        page = browser.new_page()
        page.set_default_timeout(0)
        page.goto(f"http://{request.param}:{port}/")
        yield page
        page.close()


def _send(page: Page, origin: str, attack: Attack, mode: str) -> str:
    options = {"url": origin + attack.path, "method": attack.method, "body": attack.body}
    headers = dict(attack.headers)
    answer: str = page.evaluate(SEND, {**options, "headers": headers, "mode": mode})
    return answer


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_page_of_another_origin_has_no_access(
    victim: LocalSageMaker, attacker_page: Page, host: str, tmp_path: Path
) -> None:
    old_state, build_output = state(), tmp_path / "build_output"
    origin = f"http://{host}:{victim.running.port}"
    for name, attack in attacks(build_output).items():
        for mode in ("cors", "no-cors"):
            assert SECRET not in _send(attacker_page, origin, attack, mode), name
    template = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
    fields = {"Action": "CreateStack", "StackName": "planted", "TemplateBody": template}
    attacker_page.evaluate(SUBMIT, {"url": f"{origin}/", "fields": fields})
    attacker_page.evaluate(
        SHOW, f"{origin}{attacks(build_output)['create a role by a GET query string'].path}"
    )
    assert state() == old_state
    assert not build_output.exists()


def test_dns_rebinding_has_no_access(
    victim: LocalSageMaker, browser: Browser, tmp_path: Path
) -> None:
    old_state, build_output = state(), tmp_path / "build_output"
    origin = f"http://evil.example:{victim.running.port}"
    page = browser.new_page()
    page.set_default_timeout(0)
    answer = page.goto(f"{origin}/_local_sagemaker/")
    assert answer is not None
    assert answer.status == 403
    for name, attack in attacks(build_output).items():  # same-origin for the browser
        assert "is not this machine" in _send(page, origin, attack, "same-origin"), name
    page.close()
    assert state() == old_state
    assert not build_output.exists()


def test_page_in_a_bucket_cannot_call_services(victim: LocalSageMaker, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(0)
    origin = f"http://127.0.0.1:{victim.running.port}"
    answer = page.goto(f"{origin}/{BUCKET}/{KEY}")
    assert answer is not None
    assert (answer.status, SECRET in answer.text()) == (403, False)
    page.goto(f"{origin}/_local_sagemaker/")
    create = attacks(Path("unused"))["create a role"]
    assert "Browsers may only request paths below" in _send(page, origin, create, "same-origin")
    page.close()


def test_dashboard_works_by_its_address(victim: LocalSageMaker, browser: Browser) -> None:
    page = browser.new_page()
    page.set_default_timeout(0)
    for host in ("127.0.0.1", "localhost"):
        page.goto(f"http://{host}:{victim.running.port}/_local_sagemaker/")
        eventually(lambda: "No endpoint" in page.locator("body").inner_text())
    page.close()
