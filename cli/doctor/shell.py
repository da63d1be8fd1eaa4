"""Variables of the shell that lead what is meant for the local SageMaker elsewhere."""

import os
import re
from collections.abc import Iterator, Mapping

from cli.doctor.finding import Finding, ok, warning

ENDPOINTS = re.compile("AWS_ENDPOINT_URL_[A-Z0-9_]+")
"""Of single services: each comes before AWS_ENDPOINT_URL (AWS SDKs and tools reference guide,
feature-ss-endpoints), which is all that `--local` sets. Tried: such a
service is then not called locally."""
PROFILES = "AWS_PROFILE", "AWS_DEFAULT_PROFILE"
PROXIES = "http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"


def findings(environment: Mapping[str, str] = os.environ) -> Iterator[Finding]:
    """Yield what was found."""
    yield _endpoints(environment)
    yield _profile(environment)
    yield _proxy(environment)


def _endpoints(environment: Mapping[str, str]) -> Finding:
    check = "AWS endpoints"
    found = sorted(it for it in environment if ENDPOINTS.fullmatch(it))
    if found:
        names = " ".join(found)
        return warning(check, f"set: {names}, which --local does not change", f"unset {names}")
    return ok(check, "no variable leads --local elsewhere")


def _profile(environment: Mapping[str, str]) -> Finding:
    """Without the profile that a variable names, boto3 makes no client, whatever else is set."""
    check = "AWS profile"
    name = next((it for it in PROFILES if environment.get(it)), None)
    if name is None:
        return ok(check, "no variable names one")
    import botocore.session  # here: what is not installed, `packages` has found
    from botocore.exceptions import BotoCoreError

    profile = environment[name]
    try:
        there = profile in botocore.session.Session().available_profiles
    except BotoCoreError as error:
        return warning(check, str(error), "correct the file")
    if there:
        return ok(check, f"{name}={profile}, which is not used with --local")
    return warning(check, f"{name}={profile}: there is no such profile", f"unset {name}")


def _proxy(environment: Mapping[str, str]) -> Finding:
    """With what `--local` and `tritonsm env` set, 127.0.0.1 is asked without one; tried."""
    check = "proxy"
    found = [it for it in PROXIES if environment.get(it)]
    if not found:
        return ok(check, "none")
    excepted = environment.get("no_proxy") or environment.get("NO_PROXY") or ""
    if {"*", "127.0.0.1"} & {it.strip() for it in excepted.split(",")}:
        return ok(check, f"{found[0]}, not for 127.0.0.1")
    return warning(
        check,
        f"{found[0]} is set for 127.0.0.1 too; --local and tritonsm env except it",
        "export NO_PROXY=127.0.0.1 for other clients of the local SageMaker",
    )
