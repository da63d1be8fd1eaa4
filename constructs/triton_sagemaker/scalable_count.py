"""The base class of scalable targets."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ClassVar, TypedDict

from aws_cdk import Duration, IResolvable
from aws_cdk import aws_applicationautoscaling as scaling
from constructs import Construct

from platform_facts.rules.scaling import concurrency_tracking, target_tracking
from triton_sagemaker.problems import Problem, prefix_problems


class Cooldowns(TypedDict, total=False):
    """Minimum times between two scaling activities in the same direction."""

    scale_in_cooldown: Duration
    scale_out_cooldown: Duration


class ScalableCount(Construct):
    """A scalable target with its policies.

    With several policies, Application Auto Scaling uses the largest capacity. The target is created
    after `after`. `resource_id` is the ID of the target, `dimensions` are the dimensions of its
    metrics, and `parent_argument` is the prefix of the argument in error messages.
    """

    scalable_dimension: ClassVar[str]
    method: ClassVar[str]
    """The name of the method that creates the target, for error messages."""

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        after: Construct,
        resource_id: str,
        dimensions: dict[str, str],
        min_capacity: int,
        max_capacity: int,
        parent_argument: str,
    ) -> None:
        super().__init__(scope, construct_id)
        self._dimensions, self._name = dimensions, resource_id
        self._parent_argument = parent_argument
        self._checks = list[Callable[[], Iterable[Problem]]]()
        self._metrics = set[str]()
        self._actions = list[IResolvable | scaling.CfnScalableTarget.ScheduledActionProperty]()
        self._target = scaling.CfnScalableTarget(
            self,
            "Target",
            max_capacity=max_capacity,
            min_capacity=min_capacity,
            resource_id=resource_id,
            scalable_dimension=self.scalable_dimension,
            service_namespace="sagemaker",
        )
        self._target.node.add_dependency(after)
        self._target_id = self._target.ref

    def problems(self) -> Iterator[Problem]:
        """Yield the settings that Application Auto Scaling would reject or never use."""
        problems = [problem for check in self._checks for problem in check()]
        if not (problems or self._metrics or self._actions):
            methods = [name for name in dir(self) if name.startswith("scale_on_")]
            message = f"nothing scales the count: call {', '.join(methods[:-1])} or {methods[-1]}"
            problems = [Problem(self.method, message)]
        yield from prefix_problems(self._parent_argument, problems)

    def _track(
        self,
        construct_id: str,
        argument: str,
        metric: str,
        target: float | Mapping[str, float],
        cooldowns: Cooldowns,
    ) -> None:
        """Add a policy that keeps a metric at a target, or the concurrency at one for each type.

        The policy is an L1 construct, because the CDK's L2 would change the logical ID of a
        deployed policy, and the new policy could not replace the old one: "Only one
        TargetTrackingScaling policy for a given metric specification is allowed" (PutScalingPolicy,
        in hashicorp/terraform-provider-aws#24282).
        """
        if metric in self._metrics:
            message = "called twice, but AWS allows one policy for each metric: call it once"
            self._checks.append(lambda: [Problem(argument, message)])
        self._metrics.add(metric)
        names = {"scale_in_cooldown": "ScaleInCooldown", "scale_out_cooldown": "ScaleOutCooldown"}
        durations: Mapping[str, Any] = cooldowns
        seconds = {names[name]: duration.to_seconds() for name, duration in durations.items()}
        tracking = (
            concurrency_tracking(target, self._dimensions, seconds)
            if isinstance(target, Mapping)
            else target_tracking(metric, target, self._dimensions, seconds)
        )
        policy = scaling.CfnScalingPolicy(
            self,
            construct_id,
            policy_name=f"{self._name}-{construct_id}".replace("/", "-"),
            policy_type="TargetTrackingScaling",
            scaling_target_id=self._target_id,
        )
        policy.add_property_override("TargetTrackingScalingPolicyConfiguration", tracking)
