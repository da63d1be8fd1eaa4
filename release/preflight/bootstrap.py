"""Whether `cdk bootstrap` has been run here, as newly as the templates need it."""

from collections.abc import Iterator

from release.preflight.account import Account
from release.preflight.rows import Row, Topic

TOPIC = Topic("bootstrap")
NEEDED, PARAMETER = "requiresBootstrapStackVersion", "bootstrapStackVersionSsmParameter"
"""Properties of an artifact in the assembly's manifest (aws-cdk-lib, cloud-assembly-schema)."""


def ask(account: Account) -> Iterator[Row]:
    """Compare the bootstrap's version with the one that the assembly asks for."""
    of = [it["properties"] for it in account.manifest.values() if "properties" in it]
    needed: dict[str, int] = {}
    for it in of:
        if NEEDED in it and PARAMETER in it:
            needed[it[PARAMETER]] = max(it[NEEDED], needed.get(it[PARAMETER], 0))
    ssm = account.client("ssm")
    environment = f"aws://{account.caller.account}/{account.region}"
    for parameter, version in needed.items():
        try:
            found = int(ssm.get_parameter(Name=parameter)["Parameter"]["Value"])
        except ssm.exceptions.ParameterNotFound:
            yield TOPIC.refused(
                environment,
                f"there is no {parameter}: it was never bootstrapped",
                f"cdk bootstrap {environment}",
            )
            continue
        if found < version:
            yield TOPIC.refused(
                environment,
                f"version {found}, and the templates need {version}",
                f"cdk bootstrap {environment}",
            )
        else:
            yield TOPIC.ok(environment, f"version {found}; {version} is needed")
