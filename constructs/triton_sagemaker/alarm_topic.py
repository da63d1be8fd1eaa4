"""The SNS topic that alarms notify."""

from collections.abc import Sequence

from aws_cdk import Duration, RemovalPolicy
from aws_cdk import aws_iam as iam
from aws_cdk import aws_kms as kms
from aws_cdk import aws_sns as sns
from aws_cdk import aws_sns_subscriptions as subscriptions
from constructs import Construct

from triton_sagemaker.allow import StackArns


class AlarmTopic(Construct):
    """An encrypted SNS topic that CloudWatch alarms of its account and region may publish to.

    SNS sends a confirmation link to each of `emails`, and notifications only after confirmation.
    Add other subscribers to `topic`. The key is deleted with the topic, because it encrypts only
    messages in transit, no stored data.
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
            description="Encrypts alarm notifications in transit",
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
        """Allow CloudWatch to publish to the topic and to use the key.

        `enforce_ssl` adds a policy to the topic, which replaces SNS's default policy; only the
        default one lets alarms of the account publish. Sources: AWS re:Post,
        cloudwatch-receive-sns-for-alarm-trigger (statement of the topic); SNS developer guide,
        sns-key-management, "Enable compatibility between event sources from AWS services and
        encrypted topics" (statement of the key; the AWS managed key for SNS does not work).
        CloudWatch's requests to SNS and to KMS have both condition keys:
        aws/modern-data-architecture-accelerator, grantCloudWatchAlarmsTopicAccess.
        """
        arns = StackArns(self)
        alarms = iam.ServicePrincipal("cloudwatch.amazonaws.com").with_conditions(
            {
                "StringEquals": {"aws:SourceAccount": arns.account},
                "ArnLike": {"aws:SourceArn": arns.arn("cloudwatch", "alarm:*")},
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
                resources=["*"],  # in a key policy: the key itself
            )
        )
