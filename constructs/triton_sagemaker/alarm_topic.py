"""The SNS topic that alarms notify."""

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy, Stack
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct


class AlarmTopic(Construct):
    """An encrypted SNS topic for the CloudWatch alarms of its account and region.

    SNS sends each address in `emails` a confirmation link; alarms arrive after it is opened. Add
    other subscriptions to `topic`. `name` is the topic's physical name. `key` encrypts messages in
    transit only, so it is deleted with the construct (7 days later).
    """

    def __init__(
        self,
        scope: Construct,
        construct_id: str,
        *,
        name: str | None = None,
        emails: Sequence[str] = (),
    ) -> None:
        super().__init__(scope, construct_id)
        self.key = kms.Key(
            self,
            "Key",
            description="Encrypts alarms on their way",
            enable_key_rotation=True,
            pending_window=Duration.days(7),
            removal_policy=RemovalPolicy.DESTROY,
        )
        self.topic = sns.Topic(
            self, "Topic", enforce_ssl=True, master_key=self.key, topic_name=name
        )
        self._allow_alarms_to_publish()
        for address in emails:
            self.topic.add_subscription(subscriptions.EmailSubscription(address))

    def _allow_alarms_to_publish(self) -> None:
        """Allow CloudWatch alarms to publish to the topic and to use its key.

        `enforce_ssl` adds a topic policy, which replaces the default policy of SNS: that one would
        allow alarms to publish. Sources: AWS re:Post, cloudwatch-receive-sns-for-alarm-trigger
        (topic policy); SNS developer guide, sns-key-management, "Enable compatibility between event
        sources from AWS services and encrypted topics" (key policy; the AWS managed key of SNS does
        not work). CloudWatch sends both condition keys, also to KMS:
        aws/modern-data-architecture-accelerator, grantCloudWatchAlarmsTopicAccess.
        """
        stack = Stack.of(self)
        arn = f"arn:{stack.partition}:cloudwatch:{stack.region}:{stack.account}:alarm:*"
        alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com").with_conditions(
            {
                "StringEquals": {"aws:SourceAccount": stack.account},
                "ArnLike": {"aws:SourceArn": arn},
            }
        )
        self.topic.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsPublish",
                actions=["sns:Publish"],
                principals=[alarms],
                resources=[self.topic.topic_arn],
            )
        )
        self.key.add_to_resource_policy(
            iam.PolicyStatement(
                sid="AlarmsUseTheKey",
                actions=["kms:Decrypt", "kms:GenerateDataKey*"],
                principals=[alarms],
                resources=["*"],  # in a key policy: this key
            )
        )
