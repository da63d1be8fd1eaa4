"""Checks of what AWS accepts, sets and publishes."""

from datetime import timedelta
from statistics import median

from account_test.answers import Answer, Answers
from account_test.deployment_checks import accepted
from account_test.findings import Finding, found, missing

ALL_APPEAR_AFTER = timedelta(minutes=15)
""""After you create a metric, allow up to 15 minutes for the metric to appear" (CloudWatch API
reference, ListMetrics). CloudTrail names no such time: the same is our choice."""
DENIED_ACTION, ALLOWED_ACTION = "iam:CreateUser", "sagemaker:DeleteEndpoint"
"""An action that no policy of ours allows, and one that a policy of the step allows conditionally:
a simulation that decides otherwise shows nothing."""
NO_BACKEND = "unable to find backend library for backend 'dali'"
"""triton-inference-server/core, src/backend_model.cc."""
BACKEND_ERRORS = ("DALI Backend error", "DALI error")
"""triton-inference-server/dali_backend, src/dali_backend.cc."""
ONE_OF_TWO = (0.35, 0.65)
"""Bounds of the share of calls that one of two instances answers: our choice."""


def quotas(answers: Answers) -> Finding:
    """Decide by the names that Service Quotas lists."""
    listed = answers.of("Quotas")
    absent = [name for it in listed for name in it.request["Names"] if name not in it.response]
    values = [f"{name}: {value:g}" for it in listed for name, value in it.response.items()]
    if not listed:
        return missing("Service Quotas did not answer")
    return found(not absent, f"{'; '.join(values)}; absent: {absent or 'none'}", *listed)


def templates(answers: Answers) -> Finding:
    """Decide by ValidateTemplate."""
    return _all_accepted(answers.of("ValidateTemplate"))


def policies(answers: Answers) -> Finding:
    """Decide by IAM's simulation of each statement, and of an action that none allows."""
    simulated = answers.of("SimulateCustomPolicy")
    decisions = {
        it["EvalActionName"]: it["EvalDecision"]
        for answer in simulated
        for it in answer.response.get("EvaluationResults", ())
    }
    if any(it.error for it in simulated):
        return _all_accepted(simulated)
    controls = decisions.pop(DENIED_ACTION, ""), decisions.pop(ALLOWED_ACTION, "")
    if controls != ("implicitDeny", "allowed"):
        return missing("the simulation does not know conditions", *simulated)
    wrong = [f"{action}: {it}" for action, it in decisions.items() if it != "allowed"]
    evidence = "; ".join(wrong) or f"{len(decisions)} actions allowed, {DENIED_ACTION} denied"
    return found(not wrong, evidence, *simulated)


def create_model(answers: Answers) -> Finding:
    """Decide by CreateModel's last answer: a new role is not known at once."""
    return accepted(answers.of("CreateModel"))


def least_outstanding_requests(answers: Answers) -> Finding:
    """Decide by a configuration with the strategy, one without, and the endpoint's description."""
    plain, routed = (
        [
            it
            for it in answers.of("CreateEndpointConfig")
            if it.request["EndpointConfigName"].endswith(name)
        ]
        for name in ("-plain", "-routed")
    )
    if plain and routed and routed[0].error and not plain[0].error:
        return accepted(Answers(routed))
    for endpoint in reversed(answers.of("DescribeEndpoint", "update")):
        for variant in endpoint.response.get("ProductionVariants", ()):
            if strategy := variant.get("RoutingConfig", {}).get("RoutingStrategy"):
                as_stated = strategy == "LEAST_OUTSTANDING_REQUESTS"
                return found(as_stated, f"the endpoint routes by {strategy}", endpoint)
    return missing("no endpoint with several models said how it routes", *plain, *routed)


def detailed_observability(answers: Answers) -> Finding:
    """Decide by the description of a configuration that was created without MetricsConfig."""
    for answer in answers.of("DescribeEndpointConfig", "configurations"):
        enabled = answer.response.get("MetricsConfig", {}).get("EnableDetailedObservability")
        if enabled is not None:
            return found(enabled, f"EnableDetailedObservability: {enabled}", answer)
    return missing("no description of a configuration has EnableDetailedObservability")


def triton_metrics(answers: Answers) -> Finding:
    """Decide by the metrics in the endpoint's own namespace."""
    listed = _metrics(answers, "Triton/")
    published = [it for it in _listed(listed) if it[0].startswith("nv_")]
    if published:
        return found(True, "; ".join(f"{name}: {by}" for name, by in published), *listed)
    return _absent(answers, "there is no metric nv_*", *listed)


def model_errors_dimension(answers: Answers) -> Finding:
    """Decide by the dimensions of InvocationModelErrors, once requests failed in an update."""
    listed = _metrics(answers, "AWS/SageMaker")
    dimensions = [by for name, by in _listed(listed) if name == "InvocationModelErrors"]
    if not dimensions:
        return missing("InvocationModelErrors is not listed", *listed)
    if any("EndpointConfigName" in it for it in dimensions):
        return found(True, f"InvocationModelErrors: {'; '.join(dimensions)}", *listed)
    return _absent(answers, f"InvocationModelErrors: {'; '.join(dimensions)}", *listed)


def canary_rounding(answers: Answers) -> Finding:
    """Decide by the new instances' share of the calls, minute by minute of a canary."""
    counted = sorted(
        answers.of("GetMetricStatistics"), key=lambda it: len(it.request["Dimensions"])
    )
    counts = [
        {it["Timestamp"]: it["SampleCount"] for it in answer.response.get("Datapoints", ())}
        for answer in counted
    ]
    if len(counts) < 2:
        return missing("CloudWatch was not asked for the calls of a canary")
    every, new = counts
    shares = [count / every[minute] for minute, count in new.items() if every.get(minute)]
    if not shares:
        return missing("CloudWatch has no calls of the new instances", *counted)
    low, high = ONE_OF_TWO
    share = median(shares)
    half = None if share > high else share >= low
    return found(half, f"{share:.0%} of the calls, median of {len(shares)} minutes", *counted)


def dali_in_cpu_images(answers: Answers) -> Finding:
    """Decide by Triton's answer for a model of the backend."""
    for answer in answers.of("InvokeEndpoint", "backend"):
        message = (answer.error or {}).get("Message", "")
        loaded = any(it in message for it in BACKEND_ERRORS)
        return found(True if NO_BACKEND in message else False if loaded else None, message, answer)
    return missing("no model of the backend was invoked")


def kms_describe_key(answers: Answers) -> Finding:
    """Decide by CloudTrail's events of the volumes' key that the endpoint's role caused."""
    looked_up = answers.of("LookupEvents")[-1:]
    names = sorted(
        {it["EventName"] for answer in looked_up for it in answer.response.get("Events", ())}
    )
    if "DescribeKey" in names:
        return found(True, ", ".join(names), *looked_up)
    if "CreateGrant" in names:
        return _absent(answers, f"only {', '.join(names)}", *looked_up)
    return missing("CloudTrail has no call of the endpoint's role with the key", *looked_up)


def _all_accepted(asked: Answers) -> Finding:
    refused = Answers(it for it in asked if it.error)
    if refused or not asked:
        return accepted(refused)
    return found(True, f"{len(asked)} accepted", *asked)


def _metrics(answers: Answers, namespace: str) -> list[Answer]:
    return [it for it in answers.of("ListMetrics") if it.request["Namespace"].startswith(namespace)]


def _listed(answers: list[Answer]) -> list[tuple[str, str]]:
    """Return the metrics that were listed: name, and dimensions as text."""
    metrics = (it for answer in answers for it in answer.response.get("Metrics", ()))
    return sorted({(it["MetricName"], ", ".join(sorted(it["Dimensions"]))) for it in metrics})


def _absent(answers: Answers, evidence: str, *asked: Answer) -> Finding:
    """Return that something is absent, unless AWS was asked too early to show it."""
    invoked = answers.of("InvokeEndpoint", "invoke")
    if not invoked or not asked:
        return missing(evidence, *asked)
    passed = asked[-1].date - invoked[0].date
    evidence += f", {passed.total_seconds() / 60:.0f} minutes after the first invocation"
    return found(None if passed < ALL_APPEAR_AFTER else False, evidence, *asked)
