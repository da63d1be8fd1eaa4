"""The table of commands: module and summary of each command.

A command's module has `add_to(commands)`, which adds its parser; the parser's `run` takes the
parsed options and returns the exit code. A module is imported only for its own command, because
most import boto3, and some torch.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """A command of `tritonsm`."""

    name: str
    summary: str
    module: str

    @property
    def calls_aws(self) -> bool:
        """Whether the command has the option `--local`."""
        return self.name not in OFFLINE


DELIVERY, LOCAL = "delivery.command", "local_sagemaker.__main__"
MODELS = "model_build.commands."

GROUPS: dict[str, tuple[Command, ...]] = {
    "start": (
        Command("demo", "deploy MiniLM on this machine, invoke it, clean up", "cli.demo"),
        Command("new", "write a model's folder or a stage's file to start from", "cli.new"),
    ),
    "models": (
        Command("list", "list the models, their versions and descriptions", MODELS + "listing"),
        Command("lint", "find what Triton on SageMaker would reject or misread", MODELS + "lint"),
        Command("lock", "pin the packages of a model, with hashes", "cli.lock"),
        Command("build", "build the archive of a model", MODELS + "build"),
        Command("try", "build a model, load it into Triton, invoke it", "cli.try_model"),
        Command("tune", "measure a model's instances and batching on this CPU", "cli.tune"),
    ),
    "local SageMaker": (
        Command("up", "start the local SageMaker", LOCAL),
        Command("env", "print the environment variables for the local SageMaker", LOCAL),
        Command("down", "stop the local SageMaker and all its processes", LOCAL),
    ),
    "stages": (
        Command("stages", "list stages and their endpoints", "stages.command"),
        Command("diff", "show the changes that a deploy would make", "cli.diff"),
        Command("deploy", "deploy a stage from the working tree", "cli.deploy"),
        Command("destroy", "delete a stage's stacks", "cli.destroy"),
        Command("release", "synthesise all stages, once", "cli.release"),
        Command("review", "review a change: endpoints, models, access, cost", "review.command"),
        Command(
            "preflight", "check that the account can deploy a stage", "delivery.preflight.command"
        ),
        Command("permissions", "write IAM policies for whoever deploys a stage", "cli.permissions"),
        Command("deliver", "deploy a release and test every model", DELIVERY),
        Command("rollback-stage", "deploy the release of an earlier delivery", DELIVERY),
        Command("golden", "write the expected outputs of a deployed model", DELIVERY),
    ),
    "deployed models": (
        Command("status", "show endpoints, models, alarms, and drift", "cli.status"),
        Command(
            "report", "collect what explains a failure, for a bug report", "cli.failure_report"
        ),
        Command("history", "list the deliveries and model changes of a stage", "cli.history"),
        Command("invoke", "invoke a model", "cli.invoke"),
        Command("load", "load-test models up to a latency objective", "cli.load"),
        Command("size", "measure an instance's rate, and size for your traffic", "cli.load.size"),
        Command(
            "publish", "publish a new version of a model to a running endpoint", MODELS + "publish"
        ),
        Command("rollback", "make an earlier version of a model current", MODELS + "rollback"),
        Command("retire", "delete archives that no catalog entry names", MODELS + "retire"),
    ),
}

COMMANDS = {command.name: command for group in GROUPS.values() for command in group}

OFFLINE = {
    *("demo", "down", "env", "lint", "list", "lock", "new", "review"),
    *("permissions", "stages", "try", "tune", "up"),
}
"""Commands that call no AWS service, or only the local SageMaker."""

NEED_ALL_PACKAGES = {
    *("build", "deliver", "demo", "golden", "invoke", "load", "lock"),
    *("publish", "report", "rollback-stage", "size", "try", "tune"),
}
"""Commands with packages that `make install-cdk` leaves out, such as those that export models."""

STAGE_MODEL_COMMANDS = {MODELS + name for name in ("publish", "rollback", "retire")}
"""Modules whose commands use the default session of boto3."""
