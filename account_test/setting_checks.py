"""Checks of requests that AWS accepts, and of settings and metrics."""

from datetime import timedelta
from itertools import chain
from statistics import median

from account_test.answers import Answer, Answers
from account_test.deployment_checks import accepted
from account_test.findings import StatementFinding, finding_for, inconclusive

MAX_DELAY = timedelta(minutes=15)
""""After you create a metric, allow up to 15 minutes for the metric to appear" (CloudWatch API
reference, ListMetrics). CloudTrail documents no such delay; using the same value is our choice."""
DENIED_ACTION, ALLOWED_ACTION = "iam:CreateUser", "sagemaker:DeleteEndpoint"
"""Controls: an action that no policy of the app allows, and an action that a policy of the step
allows with a condition. If the simulation decides differently, its other results prove nothing."""
NO_BACKEND = "unable to find backend library for backend 'dali'"
"""triton-inference-server/core, src/backend_model.cc."""
BACKEND_ERRORS = ("DALI Backend error", "DALI error")
"""triton-inference-server/dali_backend, src/dali_backend.cc."""
HALF_RANGE = 0.35, 0.65
"""Shares of invocations that count as one of two instances. Our choice."""


def quotas(answers: Answers) -> StatementFinding:
    """Decide by the names that Service Quotas lists."""
    responses = answers.of("Quotas")
    names = list(chain.from_iterable(answer.request["Names"] for answer in responses))
    values = {name: value for answer in responses for name, value in answer.response.items()}
    if not responses:
        return inconclusive("no response from Service Quotas")
    evidence = "; ".join(f"{name}: {values.get(name, 'not listed')}" for name in names)
    return finding_for({*names} == values.keys(), evidence, *responses)


def templates(answers: Answers) -> StatementFinding:
    """Decide by ValidateTemplate."""
    return _all_accepted(answers.of("ValidateTemplate"))


def policies(answers: Answers) -> StatementFinding:
    """Decide by IAM's simulation of each statement, and of two actions as a control."""
    simulations = answers.of("SimulateCustomPolicy")
    if any(answer.error for answer in simulations):
        return _all_accepted(simulations)
    results = chain.from_iterable(
        simulation.response["EvaluationResults"] for simulation in simulations
    )
    decisions = {result["EvalActionName"]: result["EvalDecision"] for result in results}
    controls = decisions.pop(DENIED_ACTION, ""), decisions.pop(ALLOWED_ACTION, "")
    if controls != ("implicitDeny", "allowed"):
        return inconclusive("the simulation does not evaluate conditions", *simulations)
    denied = [
        f"{action}: {decision}" for action, decision in decisions.items() if decision != "allowed"
    ]
    evidence = "; ".join(denied) or f"{len(decisions)} actions allowed, {DENIED_ACTION} denied"
    return finding_for(not denied, evidence, *simulations)


def create_model(answers: Answers) -> StatementFinding:
    """Decide by the last response of CreateModel, which is retried until the role exists."""
    return accepted(answers.of("CreateModel"))


def multi_model_pools(answers: Answers) -> StatementFinding:
    """Decide by CreateEndpointConfig's response to instance pools with a multi-model Model."""
    return accepted(answers.of("CreateEndpointConfig", "pools"))


def zero_instances(answers: Answers) -> StatementFinding:
    """Decide by CreateEndpointConfig's response to managed instance scaling from 0."""
    return accepted(answers.of("CreateEndpointConfig", "components"))


def least_outstanding_requests(answers: Answers) -> StatementFinding:
    """Decide by a configuration with the strategy, one without, and the endpoint's description."""
    created = {
        answer.request["EndpointConfigName"].rpartition("-")[2]: answer
        for answer in answers.of("CreateEndpointConfig", "configurations")
    }
    plain, routed = created.get("plain"), created.get("routed")
    if plain and routed and routed.error and not plain.error:
        return accepted(Answers([routed]))
    for endpoint in reversed(answers.of("DescribeEndpoint", "update")):
        for variant in endpoint.response.get("ProductionVariants", ()):
            if strategy := variant.get("RoutingConfig", {}).get("RoutingStrategy"):
                as_stated = strategy == "LEAST_OUTSTANDING_REQUESTS"
                return finding_for(as_stated, f"the endpoint routes by {strategy}", endpoint)
    return inconclusive(
        "no DescribeEndpoint response has the routing strategy of several models", *created.values()
    )


def detailed_observability(answers: Answers) -> StatementFinding:
    """Decide by the description of a configuration that was created without MetricsConfig."""
    for answer in answers.of("DescribeEndpointConfig", "configurations"):
        enabled = answer.response.get("MetricsConfig", {}).get("EnableDetailedObservability")
        if enabled is not None:
            return finding_for(enabled, f"EnableDetailedObservability: {enabled}", answer)
    return inconclusive("no description of a configuration has EnableDetailedObservability")


def triton_metrics(answers: Answers) -> StatementFinding:
    """Decide by the metrics in the endpoint's own namespace."""
    lists, metrics = _metrics(answers, "Triton/")
    published = [f"{name}: {dimensions}" for name, dimensions in metrics if name.startswith("nv_")]
    if published:
        return finding_for(True, "; ".join(published), *lists)
    return _absent(answers, "there is no metric nv_*", *lists)


def model_errors_dimension(answers: Answers) -> StatementFinding:
    """Decide by the dimensions of InvocationModelErrors after failed requests in an update."""
    lists, metrics = _metrics(answers, "AWS/SageMaker")
    dimensions = [names for metric, names in metrics if metric == "InvocationModelErrors"]
    evidence = f"InvocationModelErrors: {'; '.join(dimensions) or 'not listed'}"
    if not dimensions:
        return inconclusive(evidence, *lists)
    if any("EndpointConfigName" in names for names in dimensions):
        return finding_for(True, evidence, *lists)
    return _absent(answers, evidence, *lists)


def canary_rounding(answers: Answers) -> StatementFinding:
    """Decide by the new instances' share of invocations in each minute of a canary."""
    statistics = sorted(
        answers.of("GetMetricStatistics").successful,
        key=lambda answer: len(answer.request["Dimensions"]),
    )
    if len(statistics) < 2:
        return inconclusive("the metrics of a canary update were not read")
    total, new = (
        {point["Timestamp"]: point["SampleCount"] for point in answer.response["Datapoints"]}
        for answer in statistics
    )
    shares = [count / total[minute] for minute, count in new.items() if total.get(minute)]
    if not shares:
        return inconclusive("CloudWatch has no invocations of the new instances", *statistics)
    share = median(shares)
    low, high = HALF_RANGE
    return finding_for(
        None if share > high else share >= low,
        f"{share:.0%} of the invocations, median of {len(shares)} minutes",
        *statistics,
    )


def dali_in_cpu_images(answers: Answers) -> StatementFinding:
    """Decide by Triton's response for a model of the backend."""
    for answer in answers.of("InvokeEndpoint", "backend"):
        message = answer.summary
        if NO_BACKEND in message:
            return finding_for(True, message, answer)
        is_backend_error = any(error in message for error in BACKEND_ERRORS)
        return finding_for(False if is_backend_error else None, message, answer)
    return inconclusive("no model of the backend was invoked")


def kms_describe_key(answers: Answers) -> StatementFinding:
    """Decide by CloudTrail's events of the endpoint's role for the key of the volumes."""
    lists = answers.of("LookupEvents").successful[-1:]
    events = chain.from_iterable(answer.response["Events"] for answer in lists)
    names = sorted({event["EventName"] for event in events})
    if "DescribeKey" in names:
        return finding_for(True, ", ".join(names), *lists)
    if "CreateGrant" in names:
        return _absent(answers, f"only {', '.join(names)}", *lists)
    return inconclusive("CloudTrail has no events of the endpoint's role with the key", *lists)


def _all_accepted(answers: Answers) -> StatementFinding:
    errors = Answers(answer for answer in answers if answer.error)
    if errors or not answers:
        return accepted(errors)
    return finding_for(True, f"{len(answers)} accepted", *answers)


def _metrics(answers: Answers, namespace: str) -> tuple[list[Answer], list[tuple[str, str]]]:
    """Return the ListMetrics responses of a namespace, and its metrics: (name, dimensions)."""
    all_lists = answers.of("ListMetrics").successful
    lists = [answer for answer in all_lists if answer.request["Namespace"].startswith(namespace)]
    metrics = chain.from_iterable(answer.response["Metrics"] for answer in lists)
    names = {(metric["MetricName"], ", ".join(sorted(metric["Dimensions"]))) for metric in metrics}
    return lists, sorted(names)


def _absent(answers: Answers, evidence: str, *lists: Answer) -> StatementFinding:
    """Return that the statement is refuted, or inconclusive if the request came too early."""
    invocations = answers.of("InvokeEndpoint", "invoke")
    if not invocations or not lists:
        return inconclusive(evidence, *lists)
    elapsed = lists[-1].date - invocations[0].date
    evidence += f", {elapsed.total_seconds() / 60:.0f} minutes after the first invocation"
    return finding_for(None if elapsed < MAX_DELAY else False, evidence, *lists)
