"""A program that loads archives into Triton as a multi-model endpoint does, and sends requests.

Usage: `python -m local_sagemaker.load_archive FOLDER`, with a line of standard input for each
archive, a JSON object: its path `archive` in the folder, and `request` with `body` (base64) and
`content_type`, or `null`. The answer is a line of standard output for each, a JSON object:

- `triton`, `python`: the versions of Triton and of the Python that runs Python models
- `stand_ins`: the frameworks that replace C++ backends, by backend
- `isolation`: `namespaces`, `user` (Triton runs as nobody), or `none` (as a user who is not root)
- `error`: Triton's error of the load, or that the model does not answer; absent if it is loaded
- `cannot_run`: the reason why this machine cannot load the model, which may be right
- `answer`: `body` and `content_type`, or `error` if Triton rejects the request

It ends after an archive that was not loaded: an error may be that of the whole server.
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
NO_ISOLATION = (
    "this kernel grants no namespaces, and the user nobody cannot execute Python and Triton: the "
    "model's code would run as root, and could read the credentials of the build: allow user "
    "namespaces, or install both where every user can execute them"
)


def main(folder: Path) -> None:
    """Load the archives of the usage."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        _write({"cannot_run": f"{platform.system()} on {platform.machine()} has no Triton"})
        return
    installation = find_triton().as_nobody()
    if not installation.isolated and installation.user is None and os.geteuid() == 0:
        _write({"cannot_run": NO_ISOLATION})
        return
    isolation = "namespaces" if installation.isolated else "none"
    common = {
        "python": installation.model_python.version,
        "stand_ins": backends.framework_versions(),
        "isolation": isolation if installation.user is None else "user",
    }
    with serve(folder, installation=installation) as server:
        common["triton"] = _version(server)
        for line in sys.stdin:
            job, report = json.loads(line), dict[str, Any]()
            try:
                server.load(job["archive"])
                if job["request"]:
                    report["answer"] = _answer(server, job["archive"], job["request"])
            except ServingError as error:
                report = _refusal(str(error))
            _write(common | report)
            if report.keys() & {"error", "cannot_run"}:
                break
        if installation.isolated:  # an orderly end takes Triton seconds; namespaces leave nothing
            os.killpg(server.server.triton.session, signal.SIGKILL)


def _write(report: dict[str, Any]) -> None:
    sys.stdout.write(f"{json.dumps(report)}\n")
    sys.stdout.flush()


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
        main(Path(sys.argv[1]))
    except LocalSageMakerError as start_error:
        sys.exit(str(start_error))
