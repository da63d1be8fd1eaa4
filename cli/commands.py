"""The commands: where each is declared, and its line in `tritonsm --help`.

A command's module has `add_to(commands)`, which adds its parser; the parser's `run` takes the
parsed options and returns the exit code. Modules are imported when they are asked for: most of
them need boto3, and some torch.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Command:
    """One command."""

    name: str
    summary: str
    module: str

    @property
    def speaks_to_aws(self) -> bool:
        """Whether it takes `--local`."""
        return self.name not in OFFLINE


DELIVERY, LOCAL = "release.delivery.command", "local_sagemaker.__main__"
MODELS = "model_build.commands."

GROUPS: dict[str, tuple[Command, ...]] = {
    "begin": (
        Command("demo", "deploy MiniLM on this machine, ask it, clean up", "cli.demo.command"),
        Command("new", "write a model's folder, or a stage's file, that works as it is", "cli.new"),
    ),
    "models": (
        Command("list", "the models, their versions and what they are", MODELS + "listing"),
        Command("lint", "what Triton on SageMaker would refuse or misread", MODELS + "lint"),
        Command("build", "one model's archive", MODELS + "build"),
        Command("inspect", "what an archive holds", MODELS + "inspect"),
        Command("try", "build a model, load it into a Triton, ask it", "cli.try_model"),
    ),
    "on your laptop": (
        Command("up", "start the local SageMaker", LOCAL),
        Command("env", "print what makes a shell speak to it", LOCAL),
        Command("down", "stop it and all that it started", LOCAL),
    ),
    "to AWS": (
        Command("stages", "what is deployed where", "stages.command"),
        Command("diff", "what a deploy would change", "cli.diff"),
        Command("deploy", "deploy a stage as it is on disk", "cli.deploy"),
        Command("destroy", "delete a stage's stacks", "cli.destroy"),
        Command("review", "what a change will do", "release.review.command"),
        Command("preflight", "what the account lacks for a deploy", "release.preflight.command"),
        Command("account-test", "answer AWS's open questions", "account_test.__main__"),
        Command("deliver", "deploy what is checked out, and try every model", DELIVERY),
        Command("rollback-stage", "deploy the commit that served a stage before", DELIVERY),
        Command("golden", "write what a deployed model answers", DELIVERY),
    ),
    "what is deployed": (
        Command("status", "endpoints, models, alarms, differences from a delivery", "cli.status"),
        Command("history", "who changed what in a stage, when, how it ended", "cli.history"),
        Command("invoke", "ask a model", "cli.invoke"),
        Command("load", "load models until a latency objective breaks", "cli.load"),
        Command("size", "the rate of an instance, and what your traffic needs", "cli.load.size"),
        Command("publish", "a model's new version on a running endpoint", MODELS + "publish"),
        Command("rollback", "make an earlier version of a model current", MODELS + "rollback"),
        Command("retire", "delete archives that nobody is sent to", MODELS + "retire"),
    ),
}

COMMANDS = {each.name: each for group in GROUPS.values() for each in group}

OFFLINE = {
    *("demo", "down", "env", "inspect", "lint", "list", "new", "review", "stages", "try", "up"),
}
"""Commands that speak to no AWS, or to the local SageMaker alone."""

NEED_ALL_PACKAGES = {
    *("account-test", "build", "deliver", "demo", "golden", "invoke", "load"),
    *("publish", "rollback-stage", "size", "try"),
}
"""Commands that export or invoke models, with packages that `make install-cdk` leaves out."""
