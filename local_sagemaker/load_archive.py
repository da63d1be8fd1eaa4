"""A program that loads an archive into Triton as a multi-model endpoint does, and sends a request.

Usage: `python -m local_sagemaker.load_archive ARCHIVE`, with the request on standard input: JSON
with `body` (base64) and `content_type`, or `null`. It writes a JSON object to standard output:

- `triton`, `python`: the versions of Triton and of the Python that runs Python models
- `stand_ins`: the frameworks that replace C++ backends, by backend
- `isolation`: `namespaces`, `user` (Triton runs as nobody), or `none`
- `error`: Triton's error of the load, or that the model does not answer; absent if it is loaded
- `cannot_run`: the reason why this machine cannot load the model, which may be right
- `answer`: `body` and `content_type`, or `error` if Triton rejects the request
"""

import base64
import json
import os
import platform
import re
import signal
import sys
from pathlib import Path
from typing import Any

from local_sagemaker.errors import LocalSageMakerError
from local_sagemaker.hosting import backends
from local_sagemaker.prerequisites import find_triton
from local_sagemaker.serving import ServingError, TritonServer, UnansweredError, serve

VERSION = re.compile(r"\| server_version +\| (\S+) ")
LIMITATION = re.compile(r"the local backend has [^\n]*|the packages of the local [^\n]*")
"""Texts of refusals that only the local server makes: its stand-ins and their packages."""


def main(archive: Path, request: dict[str, str] | None) -> dict[str, Any]:
    """Return the JSON object of the usage."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        return {"cannot_run": f"{platform.system()} on {platform.machine()} has no Triton"}
    installation = find_triton().as_nobody()
    isolation = "namespaces" if installation.isolated else "none"
    report: dict[str, Any] = {
        "python": installation.model_python.version,
        "stand_ins": backends.framework_versions(),
        "isolation": isolation if installation.user is None else "user",
    }
    with serve(archive.parent, installation=installation) as server:
        report["triton"] = _version(server)
        try:
            server.load(archive.name)
            if request:
                report["answer"] = _answer(server, archive.name, request)
        except ServingError as error:
            report |= _refusal(str(error))
        if installation.isolated:  # an orderly end takes Triton seconds; namespaces leave nothing
            os.killpg(server.server.triton.session, signal.SIGKILL)
    return report


def _refusal(message: str) -> dict[str, str]:
    limitation = LIMITATION.search(message)
    return {"cannot_run": limitation[0]} if limitation else {"error": message}


def _version(server: TritonServer) -> str:
    match = VERSION.search(server.server.triton.log.read_text(errors="replace"))
    return match[1] if match else "unknown"


def _answer(server: TritonServer, model: str, request: dict[str, str]) -> dict[str, str]:
    body, content_type = base64.b64decode(request["body"]), request["content_type"]
    try:
        response = server.invoke(model, body, content_type)
    except UnansweredError:
        raise
    except ServingError as error:
        return {"error": str(error)}
    body_text = base64.b64encode(response.body).decode()
    return {"body": body_text, "content_type": response.headers["Content-Type"]}


if __name__ == "__main__":
    try:
        json.dump(main(Path(sys.argv[1]), json.load(sys.stdin)), sys.stdout)
    except LocalSageMakerError as start_error:
        sys.exit(str(start_error))
