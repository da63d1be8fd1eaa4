"""Whether what is installed is what is pinned."""

import importlib.metadata
import json
import re
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from packaging.requirements import Requirement

from cli.doctor.finding import Finding, missing, ok, warning
from cli.doctor.version import version_said

PIN = re.compile(r"([A-Za-z0-9][A-Za-z0-9._-]*)(?:\[[^]]*\])?==([^\s;]+)")
SHOWN = 3
"""Packages that a row names."""
CDK = Path("node_modules/aws-cdk/package.json")
CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
"""Programs that `make browser-test` takes, the first that is there."""


def findings(root: Path) -> Iterator[Finding]:
    """Yield what was found in a checkout of the repository."""
    yield _python_packages(root / "requirements.txt")
    yield _torch()
    yield _cdk(root)
    yield _checkov(root)
    yield _chromium()


def _python_packages(requirements: Path) -> Finding:
    lines = requirements.read_text(encoding="utf-8").splitlines()
    pins = [pin.groups() for line in lines if (pin := PIN.match(line)) and _applies(line)]
    wrong = [
        f"{name} {installed or 'missing'} instead of {pinned}"
        for name, pinned in pins
        if (installed := _installed(name)) != pinned
    ]
    if not wrong:
        return ok("Python packages", f"{len(pins)}, as in requirements.txt")
    rest = f" and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
    return missing("Python packages", ", ".join(wrong[:SHOWN]) + rest, "make install")


def _applies(line: str) -> bool:
    """Return whether a line of a lock is for this platform."""
    marker = Requirement(line.removesuffix("\\").strip()).marker
    return marker is None or marker.evaluate()


def _installed(package: str) -> str | None:
    """Return a package's version without the name of its build, such as +cpu."""
    try:
        return importlib.metadata.version(package).partition("+")[0]
    except importlib.metadata.PackageNotFoundError:
        return None


def _torch() -> Finding:
    """The CPU's build has it in its version: 2.13.0+cpu (requirements-torch.txt)."""
    check = "torch"
    try:
        version = importlib.metadata.version(check)
    except importlib.metadata.PackageNotFoundError:
        return missing(check, "not installed", "make install")
    if version.endswith("+cpu"):
        return ok(check, version)
    return ok(check, f"{version}, PyPI's build with CUDA: 4 GB more, and nothing else")


def _cdk(root: Path) -> Finding:
    check = "cdk CLI"
    pinned = json.loads((root / "package.json").read_text())["dependencies"]["aws-cdk"]
    try:
        package = json.loads((root / CDK).read_text())
    except (OSError, ValueError):
        return missing(check, "not installed", "make install")
    if package["version"] != pinned:
        return missing(check, f"{package['version']} instead of {pinned}", "make install")
    least = int(re.findall(r"\d+", package["engines"]["node"])[0])
    node = _version_of(shutil.which("node") or "")
    if node is None and _version_of(str(Path(sys.prefix, "bin", "node"))):
        return warning(check, "no Node.js on PATH but for make's", ". .venv/bin/activate")
    if node is None:
        return missing(check, "no Node.js", "make install")
    if int(node.lstrip("v").partition(".")[0]) < least:
        do = f"Node.js {least} or newer, such as make install's: . .venv/bin/activate"
        return missing(check, f"Node.js {node}", do)
    return ok(check, f"{pinned}, on Node.js {node}")


def _version_of(program: str) -> str | None:
    """Return what a program says of itself, such as v24.1.0; None where it does not."""
    version = version_said(program)
    return version if re.match(r"v?\d", version) else None


def _checkov(root: Path) -> Finding:
    if (root / ".venv-checkov" / ".installed").exists():
        return ok("checkov", "in an environment of its own")
    return warning("checkov", "not installed", "make lint and make test install it")


def _chromium() -> Finding:
    found = next(filter(None, map(shutil.which, CHROMIUM)), None)
    if found:
        return ok("Chromium", found)
    return warning(
        "Chromium",
        "not on PATH, which make browser-test needs",
        "Debian, Ubuntu: apt-get install chromium",
    )
