"""A change of four endpoints, as the picture of a review shows it."""

from release.review.acknowledged import Acknowledgement
from release.review.comparison import Pair
from release.review.dangers import Danger
from release.review.differences import Change, StackDifference
from release.review.endpoint_changes import EndpointChange, State
from release.review.endpoints import DeclaredEndpoint, DeclaredVariant
from release.review.findings import NOTHING
from release.review.model_changes import Cause, ModelChange
from release.review.model_changes import State as ModelState
from release.review.money import Cost, CostChange
from release.review.report import Report, StageReview


def variant(
    kind: str = "ml.g5.xlarge",
    counts: tuple[int, int] = (2, 10),
    *,
    name: str = "AllTraffic",
    weight: float = 1,
) -> DeclaredVariant:
    return DeclaredVariant(
        name=name,
        instance_type=kind,
        weight=weight,
        mode="MultiModel",
        initial=counts[0],
        minimum=counts[0],
        maximum=counts[1],
        mean_minimum=counts[0],
        mean_maximum=counts[1],
        scaled=False,
        target="g5-25.09",
    )


def endpoint(name: str, *variants: DeclaredVariant, release: str = "25.09") -> DeclaredEndpoint:
    return DeclaredEndpoint(
        name=name,
        release=release,
        rollback_alarms=2,
        alarms=(),
        variants={it.name: it for it in variants or (variant(),)},
    )


def changed(
    before: DeclaredEndpoint | None, after: DeclaredEndpoint | None, state: State
) -> EndpointChange:
    change = Change(
        stack="prod",
        id="Config",
        type="AWS::SageMaker::EndpointConfig",
        impact="WILL_REPLACE",
        properties=("ProductionVariants",),
        before={},
        after={},
    )
    return EndpointChange(Pair(before, after), state, () if state == "unchanged" else (change,))


def model(of: str, name: str, state: ModelState, *because: str) -> ModelChange:
    causes = tuple(Cause("file", it) for it in because)
    return ModelChange(endpoint=of, model=name, state=state, because=causes)


def stage(
    endpoints: tuple[EndpointChange, ...],
    models: tuple[ModelChange, ...] = (),
    dangers: tuple[tuple[Danger, Acknowledgement | None], ...] = (),
    *,
    no_base: str | None = None,
) -> StageReview:
    cost = Cost(minimum=2056, maximum=10281)
    larger = Cost(minimum=2212, maximum=13271)
    return StageReview(
        stage="prod",
        no_base=no_base,
        sentences=tuple(f"**{it.name}**: {it.state}" for it in endpoints),
        dangers=dangers,
        models=models,
        costs=tuple(CostChange(endpoint=it.name, before=cost, after=larger) for it in endpoints),
        access=(),
        stacks=(StackDifference("prod-text", (), "[~] " + "a long line of a difference " * 20),),
        endpoints=endpoints,
    )


QUERY = endpoint("prod-query", variant(counts=(2, 8)))
SEARCH = endpoint("prod-search", variant(counts=(2, 8)))
TEXT = endpoint("prod-text")
LARGER_TEXT = endpoint("prod-text", variant("ml.g5.2xlarge", (2, 12)))
VISION = endpoint(
    "prod-vision",
    variant("ml.g6.2xlarge", (2, 6), name="Blue", weight=9),
    variant("ml.g6e.xlarge", (1, 1), name="Green"),
)
STAGE = stage(
    endpoints=(
        changed(None, QUERY, "new"),
        changed(SEARCH, None, "removed"),
        changed(TEXT, LARGER_TEXT, "changed"),
        changed(VISION, VISION, "unchanged"),
    ),
    models=(
        model("prod-query", "minilm", "new"),
        model("prod-search", "minilm", "removed"),
        model("prod-text", "bert", "new"),
        model("prod-text", "minilm", "rebuilt", "models/minilm/pooling/config.pbtxt"),
        model("prod-text", "reranker", "unchanged"),
        model("prod-vision", "resnet50", "unchanged"),
        model("prod-vision", "resnet50-tensorrt", "unchanged"),
    ),
    dangers=(
        (
            Danger(
                "prod",
                "removed_endpoints",
                "prod-search",
                "the endpoint prod-search is no longer in the app: its stack runs on, without "
                "updates, until it is deleted; after that, every invocation fails",
            ),
            None,
        ),
    ),
)
REPORT = Report(base="origin/main", stages=(STAGE,), findings=NOTHING)
