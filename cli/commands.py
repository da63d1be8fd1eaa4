"""The commands: where each is declared, and its line in `tritonsm --help`.

A command's module has `add_to(commands)`, which adds its parser; the parser's `run` takes the
parsed options and returns the exit code. Modules are imported when they are asked for: most of
them need boto3, and some torch.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command. One that speaks to AWS takes `--local`."""

    name: str
    summary: str
    module: str
    speaks_to_aws: bool = False


GROUPS: dict[str, tuple[Command, ...]] = {
    "begin": (
        Command("demo", "deploy MiniLM on this machine, ask it, clean up", "cli.demo.command"),
        Command("new", "write a model's folder, or a stage's file, that works as it is", "cli.new"),
    ),
    "models": (
        Command(
            "list", "the models, their versions and what they are", "model_build.commands.listing"
        ),
        Command(
            "lint", "what Triton on SageMaker would refuse or misread", "model_build.commands.lint"
        ),
        Command("build", "one model's archive", "model_build.commands.build", speaks_to_aws=True),
        Command("inspect", "what an archive holds", "model_build.commands.inspect"),
        Command("try", "build a model, load it into a Triton, ask it", "cli.try_model"),
    ),
    "on your laptop": (
        Command("up", "start the local SageMaker", "local_sagemaker.__main__"),
        Command("env", "print what makes a shell speak to it", "local_sagemaker.__main__"),
        Command("down", "stop it and all that it started", "local_sagemaker.__main__"),
    ),
    "to AWS": (
        Command("stages", "what is deployed where", "stages.command"),
        Command("diff", "what a deploy would change", "cli.diff", speaks_to_aws=True),
        Command("deploy", "deploy a stage as it is on disk", "cli.deploy", speaks_to_aws=True),
        Command("destroy", "delete a stage's stacks", "cli.destroy", speaks_to_aws=True),
        Command("review", "what a change will do", "release.review.command"),
        Command(
            "preflight",
            "what the account lacks for a deploy",
            "release.preflight.command",
            speaks_to_aws=True,
        ),
        Command(
            "account-test",
            "answer AWS's open questions in an account",
            "account_test.__main__",
            speaks_to_aws=True,
        ),
        Command(
            "deliver",
            "deploy what is checked out, and try every model",
            "release.delivery.command",
            speaks_to_aws=True,
        ),
        Command(
            "rollback-stage",
            "deploy the commit that served a stage before",
            "release.delivery.command",
            speaks_to_aws=True,
        ),
        Command(
            "golden",
            "write what a deployed model answers",
            "release.delivery.command",
            speaks_to_aws=True,
        ),
    ),
    "what is deployed": (
        Command(
            "status",
            "endpoints, models, alarms, and what differs from a delivery",
            "cli.status",
            speaks_to_aws=True,
        ),
        Command(
            "history",
            "who changed what in a stage, when, how it ended",
            "cli.history",
            speaks_to_aws=True,
        ),
        Command("invoke", "ask a model", "cli.invoke", speaks_to_aws=True),
        Command(
            "load",
            "load models until a latency objective breaks",
            "cli.load",
            speaks_to_aws=True,
        ),
        Command(
            "size",
            "the rate that one instance sustains, and what a stage needs",
            "cli.load.size",
            speaks_to_aws=True,
        ),
        Command(
            "publish",
            "a model's new version on a running endpoint",
            "model_build.commands.publish",
            speaks_to_aws=True,
        ),
        Command(
            "rollback",
            "make an earlier version of a model current",
            "model_build.commands.rollback",
            speaks_to_aws=True,
        ),
        Command(
            "retire",
            "delete archives that nobody is sent to",
            "model_build.commands.retire",
            speaks_to_aws=True,
        ),
    ),
}

COMMANDS = {it.name: it for group in GROUPS.values() for it in group}

NEED_ALL_PACKAGES = {
    *("account-test", "build", "deliver", "demo", "golden", "invoke", "load"),
    *("publish", "rollback-stage", "size", "try"),
}
"""Commands that export or invoke models, with packages that `make install-cdk` leaves out."""
