"""One CPU endpoint, deployed and updated. The steps depend on each other, in this order."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from tests.aws.ladder import ENDPOINT, MODELS, STAGE, Ladder, predict, traffic, wait_for

Answer = Callable[[object], None]
LOG_GROUP = f"/aws/sagemaker/Endpoints/{ENDPOINT}"
METRIC_DELAY = 15 * 60
""""After you create a metric, allow up to 15 minutes for the metric to appear" (CloudWatch API
reference, ListMetrics)."""
ERRORS = ("Invocation5XXErrors", "InvocationModelErrors")
DENY = {"Effect": "Deny", "Action": "logs:CreateLogGroup", "Resource": "*"}


def log_streams(ladder: Ladder) -> set[str]:
    streams = ladder.client("logs").describe_log_streams(logGroupName=LOG_GROUP)["logStreams"]
    return {stream["logStreamName"] for stream in streams}


def metric_sum(ladder: Ladder, name: str, since: datetime) -> float:
    """Return the sum of a metric of the endpoint."""
    dimensions = {"EndpointName": ENDPOINT, "VariantName": "AllTraffic"}
    points = ladder.client("cloudwatch").get_metric_statistics(
        Namespace="AWS/SageMaker",
        MetricName=name,
        Dimensions=[{"Name": key, "Value": value} for key, value in dimensions.items()],
        StartTime=since - timedelta(minutes=1),
        EndTime=datetime.now(UTC) + timedelta(minutes=1),
        Period=60,
        Statistics=["Sum"],
    )["Datapoints"]
    return float(sum(point["Sum"] for point in points))


@pytest.mark.aws("cents", "deploys both stacks, builds four models", instances=1, minutes=20)
def test_first_deploy_answers(deployed: Ladder, answer: Answer) -> None:
    statuses = {name: deployed.stack_status(name) for name in (f"{STAGE}-models", ENDPOINT)}
    assert set(statuses.values()) == {"CREATE_COMPLETE"}
    assert {model: predict(model) for model in MODELS} == dict.fromkeys(MODELS, 14.0)
    answer(f"{', '.join(statuses)}; every model answers")


@pytest.mark.aws("cents", "has IAM simulate the endpoint's role", instances=1, minutes=1)
def test_iam_allows_what_the_roles_policies_say(
    deployed: Ladder, answer: Answer, emulated: bool
) -> None:
    iam, role = deployed.client("iam"), deployed.role()
    arn = iam.get_role(RoleName=role)["Role"]["Arn"]

    def decisions(statement: dict[str, Any]) -> set[str]:
        """Simulate the actions of a statement in a context that fulfils its condition."""
        context = [
            {
                "ContextKeyName": key,
                "ContextKeyValues": [_example(values)],
                "ContextKeyType": "boolean" if operator == "Bool" else "string",
            }
            for operator, keys in statement.get("Condition", {}).items()
            for key, values in keys.items()
        ]
        results = iam.simulate_principal_policy(
            PolicySourceArn=arn,
            ActionNames=_list(statement["Action"]),
            ResourceArns=[_example(statement["Resource"])],
            ContextEntries=context,
        )["EvaluationResults"]
        return {f"{row['EvalActionName']} {row['EvalDecision']}" for row in results}

    policies = iam.list_role_policies(RoleName=role)["PolicyNames"]
    documents = [iam.get_role_policy(RoleName=role, PolicyName=name) for name in policies]
    statements = [row for each in documents for row in each["PolicyDocument"]["Statement"]]
    decided = {line for statement in statements for line in decisions(statement)}
    control = decisions({"Action": "iam:CreateUser", "Resource": "*"})
    assert control == {"iam:CreateUser implicitDeny"}
    if emulated:
        pytest.skip("the emulator evaluates no conditions of policies")
    denied = sorted(line for line in decided if not line.endswith(" allowed"))
    answer("; ".join(denied) or f"{len(decided)} actions of {len(statements)} statements allowed")
    assert not denied


def _list(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else value


def _example(patterns: Any) -> str:
    """Return a text that matches the first of the patterns of a policy."""
    pattern = _list(patterns)[0]
    return pattern if pattern == "*" else pattern.replace("*", "any")


@pytest.mark.aws("cents", "deploys again without a change", instances=1, minutes=2)
def test_second_deploy_changes_nothing(deployed: Ladder) -> None:
    before = deployed.endpoint()
    output = deployed.tritonsm("deploy", STAGE)
    after = deployed.endpoint()
    assert deployed.stack_status(ENDPOINT) == "CREATE_COMPLETE", output
    assert after["LastModifiedTime"] == before["LastModifiedTime"]
    # What AWS returns of policies is compared with the templates only here.
    report = json.loads(deployed.tritonsm("status", STAGE, "--json"))
    rows = [f"{row['subject']}: {row['text']}" for row in report["differences"]]
    assert not [row for row in rows if "polic" in row or "log group" in row]


@pytest.mark.aws(
    "cents",
    "updates all instances under calls, where the role may not create log groups",
    instances=2,
    minutes=25,
)
def test_update_loses_no_call_and_logs_without_create_log_group(
    deployed: Ladder, answer: Answer
) -> None:
    policy = json.dumps({"Version": "2012-10-17", "Statement": [DENY]})
    role, iam = deployed.role(), deployed.client("iam")
    iam.put_role_policy(RoleName=role, PolicyName="ladder", PolicyDocument=policy)
    streams, since = log_streams(deployed), datetime.now(UTC)
    try:
        deployed.configure("server: { log_verbose: 1 }")
        with traffic() as results:
            deployed.tritonsm("deploy", STAGE)
        new_streams = wait_for(lambda: log_streams(deployed) - streams, METRIC_DELAY)
    finally:
        iam.delete_role_policy(RoleName=role, PolicyName="ladder")
    wait_for(lambda: metric_sum(deployed, "Invocations", since) > 0, METRIC_DELAY)
    errors = {name: metric_sum(deployed, name, since) for name in ERRORS}
    answer(f"{dict(results)}; {errors}; {len(new_streams)} new log streams")
    assert deployed.stack_status(ENDPOINT) == "UPDATE_COMPLETE"
    assert set(results) == {"answered"}
    assert not any(errors.values())
    assert new_streams


@pytest.mark.aws("cents", "updates the endpoint to what serves", instances=2, minutes=15)
def test_update_to_what_serves_is_accepted(deployed: Ladder, answer: Answer) -> None:
    config = deployed.endpoint()["EndpointConfigName"]
    deployed.client("sagemaker").update_endpoint(
        EndpointName=ENDPOINT, EndpointConfigName=config, RetainAllVariantProperties=True
    )
    wait_for(deployed.endpoint_is_idle)
    answer(f"accepted; then {deployed.endpoint()['EndpointStatus']}")
    assert deployed.endpoint()["EndpointStatus"] == "InService"


@pytest.mark.aws("cents", "deploys containers that do not start", instances=2, minutes=30)
def test_failed_update_is_rolled_back_and_reported(deployed: Ladder, answer: Answer) -> None:
    deployed.configure('server: { additional_args: "--no-such-option" }')
    output = deployed.tritonsm("deploy", STAGE, code=1)
    answer(f"{deployed.stack_status(ENDPOINT)}: {output.splitlines()[-1]}")
    assert deployed.stack_status(ENDPOINT) == "UPDATE_ROLLBACK_COMPLETE"
    assert predict(MODELS[0]) == 14.0
