"""Whether the local Triton can run: what `tritonsm up` asks before it starts."""

import subprocess
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError

from cli.doctor.finding import Finding, missing, ok, warning
from local_sagemaker import LocalSageMakerError
from local_sagemaker.prerequisites import TritonInstallation, find_triton

CHECK = "local Triton"
SECONDS = 60


def findings() -> Iterator[Finding]:
    """Yield what was found; only the first thing that is missing is known."""
    try:
        installation = find_triton()
    except PackageNotFoundError as error:
        yield missing(CHECK, f"{error.name} is not installed", "make install")
        return
    except LocalSageMakerError as error:
        found, _, do = str(error).partition(": ")
        yield missing(CHECK, found, do)
        return
    yield _starts(installation)
    yield _isolation(installation)
    yield _python(installation)


def _starts(installation: TritonInstallation) -> Finding:
    """Whether the program runs at all: its help needs every library that it is linked to."""
    try:
        asked = [str(installation.binary), "--help"]
        told = subprocess.run(asked, capture_output=True, text=True, timeout=SECONDS, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return missing(CHECK, f"{installation.binary} does not start: {error}", "make install")
    if "--model-repository" not in told.stdout + told.stderr:
        said = (told.stderr or told.stdout).strip().splitlines() or [f"exit code {told.returncode}"]
        return missing(CHECK, f"{installation.binary} does not start: {said[0]}", "make install")
    return ok(CHECK, f"starts; Python backend for {installation.own_python.version}")


def _isolation(installation: TritonInstallation) -> Finding:
    if installation.exposed:
        return warning(
            "namespaces",
            installation.exposed,
            "allow unprivileged user namespaces: sysctl kernel.unprivileged_userns_clone=1, "
            "kernel.apparmor_restrict_unprivileged_userns=0",
        )
    return ok("namespaces", "each Triton has a network of its own")


def _python(installation: TritonInstallation) -> Finding:
    other = installation.other_python
    if other:
        found, _, do = other.partition(": ")
        return warning("Python of models", found, do)
    return ok("Python of models", f"{installation.model_python.version}, as in the image")
