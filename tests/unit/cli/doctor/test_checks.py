"""What `tritonsm doctor` finds, on a machine that lacks one thing after the other."""

import argparse
import importlib.metadata
import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.error import URLError

import pytest

from cli import doctor
from cli.doctor import aws_cli, local, machine, packages, shell, triton
from cli.doctor.finding import Finding, State, missing, ok, warning
from local_sagemaker import LOOPBACK, Folder, LocalSageMakerError, Running
from local_sagemaker.prerequisites import IMAGE_PYTHON, Interpreter, TritonInstallation
from tests.unit.test_repository import ROOT

GIB = 1 << 30


def _states(found: Iterator[Finding]) -> dict[str, State]:
    return {it.check: it.state for it in found}


def _one(found: Iterator[Finding], check: str) -> Finding:
    return next(it for it in found if it.check == check)


def _write_program(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


# The command


@pytest.mark.parametrize(
    ("found", "code"),
    [
        ([ok("a", "there")], 0),
        ([warning("a", "old", "renew it")], 0),
        ([ok("b", "there"), missing("a", "gone", "get it")], 1),
    ],
)
def test_it_fails_where_the_demo_would(
    found: list[Finding], code: int, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setattr(doctor, "_findings", lambda _: found)
    assert doctor.run(argparse.Namespace(json=False)) == code
    last = capsys.readouterr().out.splitlines()[-1].split()
    assert last == [
        {"ok": "✓", "warning": "!", "missing": "✗"}[found[-1].state],
        *_words(found[-1]),
    ]
    assert doctor.run(argparse.Namespace(json=True)) == code
    (*_, told) = json.loads(capsys.readouterr().out)
    assert list(told) == ["check", "state", "found", "do"]
    assert told["state"] == found[-1].state


def _words(found: Finding) -> list[str]:
    return f"{found.check} {found.found} {found.do}".split()


def test_it_imports_nothing_that_may_be_missing() -> None:
    script = "import sys; import cli.doctor; print(*{it.partition('.')[0] for it in sys.modules})"
    ran = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )
    needed = {"boto3", "botocore", "numpy", "pydantic", "torch", "model_build", "pytriton"}
    assert needed.isdisjoint(ran.stdout.split())


def test_everything_is_looked_at(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(triton, "findings", lambda: iter(()))
    monkeypatch.setattr(Folder, "default", lambda: Folder(tmp_path))
    found = [it.check for it in doctor._findings(ROOT)]
    assert found == [
        *("Python packages", "torch", "cdk CLI", "checkov", "Chromium"),
        *("memory", "processors", "disk", "shared memory", "open files"),
        *("AWS endpoints", "AWS profile", "proxy", "AWS CLI", "local SageMaker"),
    ]


# Triton


def _installation(root: Path, *, python: str = IMAGE_PYTHON, isolated: bool = True) -> Any:
    models, own = (Interpreter(Path("python"), it, root, root) for it in (python, "3.11"))
    return TritonInstallation(root, own_python=own, model_python=models, isolated=isolated)


def test_a_triton_that_starts_is_as_it_should_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = _installation(tmp_path)
    _write_program(installation.binary, "echo '--model-repository <string>'; exit 1")
    monkeypatch.setattr(triton, "find_triton", lambda: installation)
    assert set(_states(triton.findings()).values()) == {State.OK}


def test_what_up_would_warn_of_is_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = _installation(tmp_path, python="3.12", isolated=False)
    monkeypatch.setattr(triton, "find_triton", lambda: installation)
    _, namespaces, python = triton.findings()
    assert (namespaces.state, python.state) == (State.WARNING, State.WARNING)
    assert namespaces.found == installation.exposed
    assert f"{python.found}: {python.do}" == installation.other_python


@pytest.mark.parametrize(
    ("code", "said"),
    [("echo 'no libdcgm.so' >&2; exit 127", "no libdcgm.so"), ("exit 3", "exit code 3")],
)
def test_a_triton_that_does_not_start_is_missing(
    code: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    installation = _installation(tmp_path)
    _write_program(installation.binary, code)
    monkeypatch.setattr(triton, "find_triton", lambda: installation)
    found = next(triton.findings())
    assert (found.state, found.do) == (State.MISSING, "make install")
    assert found.found == f"{installation.binary} does not start: {said}"


def test_a_triton_without_its_program_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton, "find_triton", lambda: _installation(tmp_path))
    assert next(triton.findings()).state is State.MISSING


@pytest.mark.parametrize(
    ("error", "found"),
    [
        (
            LocalSageMakerError("Python 3.13 is not supported: use 3.11"),
            missing("local Triton", "Python 3.13 is not supported", "use 3.11"),
        ),
        (
            importlib.metadata.PackageNotFoundError("numpy"),
            missing("local Triton", "numpy is not installed", "make install"),
        ),
    ],
)
def test_what_up_would_refuse_is_missing(
    error: Exception, found: Finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise error

    monkeypatch.setattr(triton, "find_triton", refuse)
    assert list(triton.findings()) == [found]


# Packages


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A checkout in which everything is installed as pinned."""
    (tmp_path / "requirements.txt").write_text(
        "# pins\ntorch==2.13.0\n    # via x\nrich==1.0 ; python_version > '3'\n"
    )
    (tmp_path / "package.json").write_text('{"dependencies": {"aws-cdk": "2.0.1"}}')
    (tmp_path / "node_modules" / "aws-cdk").mkdir(parents=True)
    cdk = {"version": "2.0.1", "engines": {"node": ">= 18.0.0"}}
    (tmp_path / packages.CDK).write_text(json.dumps(cdk))
    (tmp_path / ".venv-checkov").mkdir()
    (tmp_path / ".venv-checkov" / ".installed").touch()
    programs = tmp_path / "bin"
    _write_program(programs / "node", "echo v20.1.0")
    _write_program(programs / "chromium", "")
    monkeypatch.setenv("PATH", str(programs))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "venv"))
    monkeypatch.setattr(importlib.metadata, "version", {"torch": "2.13.0+cpu", "rich": "1.0"}.get)
    return tmp_path


def test_what_is_installed_as_pinned_is_as_it_should_be(checkout: Path) -> None:
    assert set(_states(packages.findings(checkout)).values()) == {State.OK}


def test_packages_of_other_versions_are_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def version(name: str) -> str:
        if name == "rich":
            raise importlib.metadata.PackageNotFoundError(name)
        return "2.12.0"

    monkeypatch.setattr(importlib.metadata, "version", version)
    found = _one(packages.findings(checkout), "Python packages")
    assert found.state is State.MISSING
    assert found.found == "torch 2.12.0 instead of 2.13.0, rich missing instead of 1.0"


def test_a_package_of_another_platform_is_not_missing(checkout: Path) -> None:
    pin = "nvidia-pytriton==0.0.1 ; platform_machine == 'riscv64' and sys_platform == 'linux' \\\n"
    with (checkout / "requirements.txt").open("a") as file:
        file.write(f"{pin}    --hash=sha256:{'0' * 64}\n")
    assert _one(packages.findings(checkout), "Python packages").state is State.OK


def test_of_many_packages_the_first_are_named(
    checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pins = "".join(f"a{number}==1\n" for number in range(5))
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "2")
    (checkout / "requirements.txt").write_text(pins)
    assert _one(packages.findings(checkout), "Python packages").found.endswith(
        "a2 2 instead of 1 and 2 more"
    )


def test_torch_with_cuda_is_only_large(checkout: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.metadata, "version", lambda _: "2.13.0")
    found = _one(packages.findings(checkout), "torch")
    assert (found.state, "CUDA" in found.found) == (State.OK, True)


@pytest.mark.parametrize(
    ("cdk", "said"),
    [
        (None, "not installed"),
        ({"version": "2.0.0", "engines": {"node": ">= 18"}}, "2.0.0 instead of 2.0.1"),
        ({"version": "2.0.1", "engines": {"node": ">= 22"}}, "Node.js v20.1.0"),
    ],
)
def test_another_cdk_cli_or_node_is_missing(checkout: Path, cdk: Any, said: str) -> None:
    (checkout / packages.CDK).unlink()
    if cdk:
        (checkout / packages.CDK).write_text(json.dumps(cdk))
    found = _one(packages.findings(checkout), "cdk CLI")
    assert (found.state, found.found) == (State.MISSING, said)


def test_node_may_be_that_of_the_virtual_environment(checkout: Path) -> None:
    node = checkout / "bin" / "node"
    _write_program(node, "exit 1")
    found = _one(packages.findings(checkout), "cdk CLI")
    assert (found.state, found.found) == (State.MISSING, "no Node.js")
    node.unlink()
    _write_program(checkout / "venv" / "bin" / "node", "echo v24.0.0")
    found = _one(packages.findings(checkout), "cdk CLI")
    assert (found.state, found.do) == (State.WARNING, ". .venv/bin/activate")


def test_what_only_some_targets_need_is_a_warning(checkout: Path) -> None:
    (checkout / ".venv-checkov" / ".installed").unlink()
    (checkout / "bin" / "chromium").unlink()
    states = _states(packages.findings(checkout))
    assert (states["checkov"], states["Chromium"]) == (State.WARNING, State.WARNING)


# The machine


@pytest.mark.parametrize(("free", "state"), [(3 * GIB, State.OK), (GIB, State.MISSING)])
def test_memory_must_be_free(free: int, state: State, tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text(f"MemTotal:  9999999 kB\nMemAvailable:  {free >> 10} kB\n")
    assert machine._memory(tmp_path / "meminfo", tmp_path / "none").state is state


@pytest.mark.parametrize(
    ("free", "disk", "shared"),
    [
        (4 * GIB, State.OK, State.OK),
        (2 * GIB, State.WARNING, State.OK),
        (64 << 20, State.MISSING, State.WARNING),
    ],
)
def test_disk_and_shared_memory_must_be_free(
    free: int, disk: State, shared: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=free))
    states = _states(machine.findings(ROOT))
    assert (states["disk"], states["shared memory"]) == (disk, shared)


@pytest.mark.parametrize(
    ("limit", "state"), [(1024, State.OK), (resource.RLIM_INFINITY, State.OK), (64, State.MISSING)]
)
def test_so_many_files_must_be_allowed(
    limit: int, state: State, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    assert machine._files().state is state


# The shell


def test_a_shell_without_such_variables_is_as_it_should_be() -> None:
    assert set(_states(shell.findings({})).values()) == {State.OK}


@pytest.mark.parametrize(
    ("environment", "check", "do"),
    [
        (
            {"AWS_ENDPOINT_URL_S3": "x", "AWS_ENDPOINT_URL": "y", "AWS_ENDPOINT_URL_EC2": "z"},
            "AWS endpoints",
            "unset AWS_ENDPOINT_URL_EC2 AWS_ENDPOINT_URL_S3",
        ),
        ({"AWS_PROFILE": "nosuch"}, "AWS profile", "unset AWS_PROFILE"),
        (
            {"HTTP_PROXY": "http://proxy", "NO_PROXY": "localhost"},
            "proxy",
            "export NO_PROXY=127.0.0.1 for other clients of the local SageMaker",
        ),
    ],
)
def test_variables_that_lead_elsewhere_are_warnings(
    environment: dict[str, str], check: str, do: str
) -> None:
    found = list(shell.findings(environment))
    assert [(it.check, it.do) for it in found if it.state is State.WARNING] == [(check, do)]


def test_a_profile_that_there_is_and_a_proxy_that_is_not_asked_are_fine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("[profile mine]\nregion = eu-west-1\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    environment = {"AWS_PROFILE": "mine", "http_proxy": "x", "no_proxy": "localhost,127.0.0.1"}
    assert set(_states(shell.findings(environment)).values()) == {State.OK}


@pytest.mark.parametrize(
    ("excepted", "state"),
    [("*", State.OK), ("x, 127.0.0.1", State.OK), ("127.0.0.100", State.WARNING)],
)
def test_a_proxy_is_not_asked_for_what_is_excepted(excepted: str, state: State) -> None:
    found = shell.findings({"http_proxy": "x", "no_proxy": excepted})
    assert _states(found)["proxy"] is state


def test_a_file_of_profiles_that_cannot_be_read_is_a_row(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config").write_text("profile mine]\n")
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    found = {it.check: it for it in shell.findings({"AWS_PROFILE": "mine"})}["AWS profile"]
    assert (found.state, found.do) == (State.WARNING, "correct the file")


@pytest.mark.parametrize(
    ("says", "state", "found"),
    [
        ("aws-cli/2.13.0 Python/3.11.4 Linux/6.1 exe/x86_64", State.OK, "2.13.0"),
        ("aws-cli/1.29.0 Python/3.8", State.OK, "1.29.0"),
        ("aws-cli/3.0.0 Python/3.14", State.OK, "3.0.0"),
        ("aws-cli/2.9.19 Python/3.11.2", State.WARNING, "2.9.19 knows no AWS_ENDPOINT_URL"),
        ("aws-cli/1.28.99 Python/3.8", State.WARNING, "1.28.99 knows no AWS_ENDPOINT_URL"),
        ("Illegal instruction", State.WARNING, "does not say its version"),
    ],
)
def test_an_aws_cli_that_would_not_ask_the_local_sagemaker_is_a_warning(
    says: str, state: State, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write_program(tmp_path / "aws", f"echo '{says}'")
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    (told,) = aws_cli.findings()
    assert told.state is state
    assert found in told.found


def test_no_aws_cli_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (told,) = aws_cli.findings()
    assert told == ok("AWS CLI", "not on PATH, and nothing here needs it")


def test_a_container_has_the_memory_that_its_group_leaves(tmp_path: Path) -> None:
    (tmp_path / "meminfo").write_text("MemAvailable:  60000000 kB\n")
    (tmp_path / "memory.current").write_text(f"{machine.GIB}\n")
    for limit, state in (("max", State.OK), (str(2 * machine.GIB), State.MISSING)):
        (tmp_path / "memory.max").write_text(f"{limit}\n")
        assert machine._memory(tmp_path / "meminfo", tmp_path).state is state


# The local SageMaker


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """A local SageMaker's folder; what it is said to run is this process."""
    made = Folder(tmp_path / ".local_sagemaker")
    made.root.mkdir()
    made.remember(Running(pid=os.getpid(), port=1, python="3.10"))
    (tmp_path / "local_sagemaker").mkdir()
    return made


def test_one_that_runs_answers_and_has_read_the_code_of_today(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(LOOPBACK, "open", lambda *_, **__: (folder.root / "running.json").open())
    code = folder.root.parent / "local_sagemaker" / "front.py"
    code.touch()
    os.utime(code, (0, 0))
    states = _states(local.findings(folder, folder.root.parent))
    assert states == {"local SageMaker": State.OK, "local SageMaker's code": State.OK}
    os.utime(code, (time.time() + 60, time.time() + 60))
    found = _one(local.findings(folder, folder.root.parent), "local SageMaker's code")
    assert found.state is State.WARNING
    assert found.found == "local_sagemaker/front.py has changed since it was started"


def test_one_that_does_not_answer_is_a_warning(
    folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise URLError("refused")

    monkeypatch.setattr(LOOPBACK, "open", refuse)
    found = next(local.findings(folder, folder.root.parent))
    assert (found.state, found.do) == (State.WARNING, "tritonsm down; tritonsm up")


def test_where_none_runs_what_a_dead_one_has_left_is_a_warning(folder: Folder) -> None:
    folder.forget()
    (found,) = local.findings(folder, folder.root.parent)
    assert found == ok("local SageMaker", "none runs: tritonsm up starts it")
    with subprocess.Popen(["cat"], cwd=folder.root, stdin=subprocess.PIPE) as left:
        (found,) = local.findings(folder, folder.root.parent)
        left.communicate()
    assert (found.state, found.do) == (State.WARNING, f"kill {left.pid}")
