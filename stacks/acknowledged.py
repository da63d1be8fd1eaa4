"""Findings of cdk-nag's AwsSolutions rules that are meant so, each with its reason.

cdk-nag takes findings one by one: a statement that is not listed here, or a wildcard that is new,
fails the synth. `<Name.Arn>` is how it writes a reference to a resource of the template.
"""

from aws_cdk import Acknowledgment, Environment, Stack, Validations, region_info
from constructs import IConstruct

from stage_record import FOLDER

FUNCTIONS = ("BuilderOnEvent217E49FE", "BuilderPoll688571AC")
CHECKS = "UpdateChecksOnEvent5C4503A1"
FRAMEWORK = (
    *("BuilderProviderframeworkisCompleteF4BFDAB9", "BuilderProviderframeworkonTimeout629928F8"),
    "UpdateChecksProviderframeworkisComplete44F81835",
    "UpdateChecksProviderframeworkonTimeout75C38CE8",
)


def acknowledge_models(stack: Stack, env: Environment, *, stage_name: str) -> None:
    """What the model stack's builders may do, and why that is as narrow as it gets."""
    region, account, partition = env.region, _account(env), _partition(env)
    assets = f"arn:{partition}:s3:::cdk-hnb659fds-assets-{account}-{region}"
    reasons = {
        "The CDK's provider framework may invoke every version of its own functions.": [
            f"IAM5[Resource::<{name}.Arn>:*]" for name in (*FUNCTIONS, CHECKS, *FRAMEWORK)
        ],
        "The checks of updates read what any endpoint of the account serves, and nothing else; the "
        "stacks below name their endpoints, and CloudFormation the configurations and models.": [
            *(
                f"IAM5[Resource::arn:{partition}:sagemaker:{region}:{account}:{kind}/*]"
                for kind in ("endpoint", "endpoint-config", "model")
            ),
            f"IAM5[Resource::arn:{partition}:cloudformation:{region}:{account}:stack/*]",
            f"IAM5[Resource::arn:{partition}:ssm:{region}:{account}:parameter/triton/*]",
        ],
        "The registry token of a mirrored image knows no resources.": ["IAM5[Resource::*]"],
        "Sources of the stage's models are assets, whose names change with their content.": [
            f"IAM5[Resource::{assets}/{stage_name}/*.zip]"
        ],
        "Archives, manifests, jobs and their results are named by their content; this bucket holds "
        "nothing else.": [
            f"IAM5[Resource::<ModelsBucket970C6ADA.Arn>/{it}]"
            for it in (
                *("*/cpu-*/*", "*/cuda-*/*", "*.json", "*.tar.gz", "engines/*", "sources/*.zip"),
                *(f"engine-jobs/*/{part}/*" for part in ("claims", "job", "raw")),
            )
        ],
        "What the CDK grants to encrypt with this one key.": [
            f"IAM5[Action::kms:{it}*]" for it in ("GenerateDataKey", "ReEncrypt")
        ],
        "Models are built in Python's image, and engines compiled in NVIDIA's: CodeBuild's own "
        "images have neither this Python nor TensorRT.": ["CB5"],
        "The state machines of the CDK's provider framework only poll functions, whose logs say "
        "all there is to say.": ["SF1", "SF2"],
        "Python 3.13 is chosen on purpose: a new runtime is a change to review, not a surprise.": [
            "L1"
        ],
    }
    _acknowledge(stack, reasons)


def acknowledge_network(stack: Stack) -> None:
    """What the network stack leaves out."""
    isolated = (
        "Isolated subnets with one gateway endpoint to S3: there is no flow to or from elsewhere."
    )
    _acknowledge(stack, {isolated: ["VPC7"]})


def acknowledge_delivery(
    stack: Stack, env: Environment, *, stage_name: str, promotes_from: str | None
) -> None:
    """What the workflows' deploy may reach."""
    region, account, partition = env.region, _account(env), _partition(env)
    sources = [promotes_from] if promotes_from else []
    reasons = {
        "The catalog, endpoints and stacks of this one stage, which are more with every stage "
        "file, and the stack of the stage whose archives are promoted.": [
            f"IAM5[Resource::arn:{partition}:ssm:{region}:{account}:parameter/triton/{stage_name}/*]",
            f"IAM5[Resource::arn:{partition}:sagemaker:{region}:{account}:endpoint/{stage_name}-*]",
            f"IAM5[Resource::arn:{partition}:cloudformation:{region}:{account}:stack/{stage_name}-*]",
            *(
                f"IAM5[Resource::arn:{partition}:cloudformation:{region}:{account}:stack/{it}-models/*]"
                for it in sources
            ),
        ],
        "The model buckets of these stages, whose names CloudFormation completes, and keys through "
        "S3 alone.": [
            *(
                f"IAM5[Resource::arn:{partition}:s3:::{it}-models-modelsbucket*{objects}]"
                for it in (stage_name, *sources)
                for objects in ("", "/*")
            ),
            f"IAM5[Resource::arn:{partition}:s3:::{stage_name}-models-modelsbucket*/{FOLDER}*]",
            f"IAM5[Resource::arn:{partition}:kms:{region}:{account}:key/*]",
        ],
        "What the first step of a delivery lists and counts knows no resources, or is everybody's: "
        "quotas are the account's.": ["IAM5[Resource::*]"],
        "Images of AWS, whose account differs by region and release, tags of log groups of this "
        "stage's endpoints, and the role itself, whose name CloudFormation completes.": [
            f"IAM5[Resource::arn:{partition}:iam::{account}:role/{stage_name}-delivery-Deploy*]",
            f"IAM5[Resource::arn:{partition}:ecr:{region}:*:repository/sagemaker-tritonserver]",
            f"IAM5[Resource::arn:{partition}:logs:{region}:{account}:log-group:"
            f"/aws/sagemaker/Endpoints/{stage_name}-*]",
        ],
        "The two functions of the models' stack, whose names CloudFormation completes.": [
            f"IAM5[Resource::arn:{partition}:lambda:{region}:{account}:function:{stage_name}-models-{it}*]"
            for it in FUNCTIONS
        ],
    }
    _acknowledge(stack, reasons)


def acknowledge_endpoint(
    role: IConstruct,
    env: Environment,
    *,
    name: str,
    models_stack: str,
    capture_stack: str | None,
    prefix: str,
) -> None:
    """What the instances of an endpoint may do, and why that is as narrow as it gets.

    `capture_stack` is where they record requests, None where they do not.
    """
    region, account, partition = env.region, _account(env), _partition(env)
    bucket = f"{models_stack}:ExportsOutputFnGetAttModelsBucket970C6ADAArnC12F88E2"
    captured = f"{capture_stack}:ExportsOutputFnGetAttCapturedBucket681C726AArnAC124F64"
    logs = f"arn:{partition}:logs:{region}:{account}:log-group:/aws/sagemaker/Endpoints/{name}"
    reasons = {
        "Registry tokens, metrics and descriptions of networks know no resources; conditions "
        "narrow what can be narrowed.": ["IAM5[Resource::*]"],
        "Archives below the endpoint's own prefix, whose names change with their content.": [
            f"IAM5[Resource::{bucket}/{prefix}*]"
        ],
        "Records of requests below the endpoint's own prefix; SageMaker names each file.": [
            *([f"IAM5[Resource::{captured}/{prefix}*]"] if capture_stack else [])
        ],
        "The log streams of the endpoint's own log groups.": [
            f"IAM5[Resource::{group}:*]" for group in (logs, f"{logs}/triton-metrics")
        ],
        "DescribeAlarms is called with the names of the rollback alarms, which CloudFormation "
        "chooses.": [f"IAM5[Resource::arn:{partition}:cloudwatch:{region}:{account}:alarm:*]"],
        "SageMaker makes and removes network interfaces, whose ids nobody knows before.": [
            f"IAM5[Resource::arn:{partition}:ec2:{region}:{account}:{kind}/*]"
            for kind in ("network-interface", "security-group", "subnet")
        ],
    }
    _acknowledge(role, reasons)


def _acknowledge(construct: IConstruct, reasons: dict[str, list[str]]) -> None:
    Validations.of(construct).acknowledge(
        *(
            Acknowledgment(id=f"AwsSolutions-{finding}", reason=reason)
            for reason, findings in reasons.items()
            for finding in findings
        )
    )


def _account(env: Environment) -> str:
    return env.account or "<AWS::AccountId>"


def _partition(env: Environment) -> str:
    assert env.region is not None
    return region_info.RegionInfo.get(env.region).partition or "aws"
